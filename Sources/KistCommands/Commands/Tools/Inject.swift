internal import ArgumentParser
internal import KistClient
internal import KistInterop
internal import KistSystem

struct Inject: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "Fill secrets into a template.",
    usage: "kist inject [options]",
    discussion: """
      Replaces each {{ kist://SERVICE/ACCOUNT }} with the secret, and changes nothing else. If a \
      secret is missing or locked, kist writes nothing. With --json, only errors are JSON.

        kist inject --in app.conf.kist \\
          --out app.conf
      """)

  @Option(
    name: .customLong("in"), parsing: .unconditional,
    help: ArgumentHelp("The template. Without it or with -: standard input.", valueName: "path"))
  var input: String?

  @Option(
    name: .customLong("out"), parsing: .unconditional,
    help: ArgumentHelp(
      "The file to write, with mode 600. Without it or with -: standard output.", valueName: "path")
  )
  var output: String?

  @OptionGroup var only: OnlyOptions
  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    let (input, output) = (path(input), path(output))
    if let input = input.flatMap(fileStatus(of:)), let output = output.flatMap(fileStatus(of:)),
      input.isSameFile(as: output)
    {
      throw .refused(
        "the output would overwrite the template",
        hint: "name another file with --out")
    }
    let text =
      if let input {
        try readFile(input, upTo: Template.longest, "the template")
      } else {
        try terminal.input(upTo: Template.longest, "the template")
      }
    let template = try Template(reading: text)
    try template.check(only: only.checked())
    let filled = try await template.filled(from: storage)
    guard let output else { return try terminal.writeBytes(filled) }
    var file = try NewFile(for: output, replacing: true)
    try file.append(filled)
    try file.finish()
    if !common.json { try terminal.reportSuccess("wrote \(output)") }
  }

  private func path(_ option: String?) -> String? { option == "-" ? nil : option }
}
