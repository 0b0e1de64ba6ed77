internal import ArgumentParser
internal import Glibc
internal import KistCore
internal import KistJSON
internal import KistSystem

struct KeyringItemsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd keyring-items",
    abstract: "Print the keyring items of git, docker, cargo and Python, for `kist import`.",
    usage: "kistd keyring-items [OPTIONS]")

  @Flag(help: "Do not ask for the password of a locked keyring.")
  var noPrompt = false

  @OptionGroup var use: UseOptions

}

/// Runs `kistd keyring-items`: prints other programs' items as lines of JSON.
///
/// The output includes items without a value, and a line for each item that is in a locked keyring or
/// belongs to a program that kist does not know. `kist import keyring` reads this output through a pipe: kist is not linked to libsecret. The items are
/// not printed to a terminal, or to a file that other users can read.
func printKeyringItems(
  _ arguments: [String], environment: @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  let command = try parse(KeyringItemsCommand.self, arguments)
  let options = try command.options(environment: environment) { $0.use = command.use }
  guard isPrivatePipe(STDOUT_FILENO) || isPrivateFile(STDOUT_FILENO) else {
    throw StorageError(
      .denied,
      "there are secrets in the items, and standard output is neither a pipe nor a file of mode 600",
      hint: "`kist import keyring` reads them; `umask 077` makes new files private")
  }
  let found = try await foreignItems(
    with: searches, prompting: !command.noPrompt,
    busAddress: sessionBusAddress(environment: environment, isSocket: isSocket),
    deadline: options.deadline)
  for item in found.items { try writeOutput(line(of: item)) }
  for _ in 0..<found.locked { try writeOutput(JSONWriter.object { $0.member("locked", true) }) }
  for label in found.others { try writeOutput(JSONWriter.object { $0.member("other", label) }) }
  return 0
}

/// The attributes that find the items of each program.
///
/// They are the attributes of git's contrib/credential/libsecret, docker's secretservice,
/// cargo-credential-libsecret, and python-keyring's SecretService. Before 2.43, git used the schema
/// `NetworkPassword`. Other programs use that schema, too, but not with http and https. The last ones
/// are secrets of applications in a sandbox, which providers make for the portal.
private let searches = [
  ["xdg:schema": "org.git.Password"],
  ["xdg:schema": "org.gnome.keyring.NetworkPassword", "protocol": "https"],
  ["xdg:schema": "org.gnome.keyring.NetworkPassword", "protocol": "http"],
  ["xdg:schema": "io.docker.Credentials"],
  ["xdg:schema": "org.rust-lang.cargo.registry"],
  ["application": "Python keyring library"],
  ["xdg:schema": "org.freedesktop.portal.Secret"],
]

private func line(of item: KeyringItem) -> Secret {
  JSONWriter.object { writer in
    writer.member("attributes") { writer in
      for (name, value) in item.attributes.sorted(by: { $0.key < $1.key }) {
        writer.member(escaping: name, value)
      }
    }
    if !item.label.isEmpty { writer.member("label", item.label) }
    if let value = item.value { writer.member("value", base64: value) }
    if item.contentType != "text/plain" { writer.member("contentType", item.contentType) }
  }
}

private func writeOutput(_ line: Secret) throws(StorageError) {
  guard line.withNewline.withBytes({ writeAll($0, to: STDOUT_FILENO) }) == 0 else {
    throw .internal("standard output could not be written")
  }
}
