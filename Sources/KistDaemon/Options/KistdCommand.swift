/// The commands of kistd: the first word of a command line that does not serve.
enum KistdCommand: String, CaseIterable {
  case fsck
  case keyringItems = "keyring-items"
  case migrate
  case probe
  case rekey
  case restore
}
