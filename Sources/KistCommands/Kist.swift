package import ArgumentParser
internal import KistCore

/// The root of the command line.
package struct Kist: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "kist",
    abstract: "Save, load and delete credentials that kistd keeps.",
    discussion: """
      A secret comes from standard input or from a hidden prompt, never from the command line:
        printf %s "$TOKEN" | kist save github.com alice
        kist load github.com alice
      """,
    version: KistVersion.current,
    groupedSubcommands: [
      CommandGroup(
        name: "Credential", subcommands: [Save.self, Load.self, Delete.self, List.self, Watch.self]),
      CommandGroup(
        name: "Storage",
        subcommands: [
          Status.self, Lock.self, Unlock.self, Passphrase.self, Slots.self, Backup.self,
          Audit.self, Doctor.self,
        ]),
      CommandGroup(name: "Moving", subcommands: [Import.self, Export.self]),
      CommandGroup(
        name: "Integration", subcommands: [Run.self, Inject.self, Helper.self, Setup.self]),
    ])

  package init() {}
}
