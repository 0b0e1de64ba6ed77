import CFuzzer
import Glibc
import KistCore

/// Fuzzes one target: `Fuzz TARGET [OPTION OF LIBFUZZER…]`; without a target, lists all targets.
@main enum Fuzz {
  static let targets = [
    lines, json, requests, replies, formats, rows, stores, auditLines, auditFiles, helpers,
    templates, transfers,
    items, keyrings, busCalls, sessionSecrets,
  ]

  /// The current target, for libFuzzer's callback.
  nonisolated(unsafe) static var target = targets[0]

  static func main() {
    guard
      CommandLine.argc > 1,
      let named = targets.first(where: { $0.name == CommandLine.arguments[1] })
    else {
      for target in targets { print(target.name) }
      exit(CommandLine.argc > 1 ? 2 : 0)
    }
    target = named
    // libFuzzer uses the first argument as the name of the program, and starts it again with a
    // shell.
    var count = CommandLine.argc - 1
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? =
      CommandLine.unsafeArgv + 1
    arguments![0] = strdup("\(CommandLine.arguments[0]) \(target.name)")
    exit(
      LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
        Fuzz.target.run(Input(Array(UnsafeBufferPointer(start: bytes, count: count))))
        return 0
      })
  }
}
