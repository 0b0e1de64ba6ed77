/// What kistd does in place of serving, where it is the first word of its command line.
enum KistdCommand: String, CaseIterable {
  case fsck
  case keyringItems = "keyring-items"
  case migrate
  case probe
  case rekey
  case restore
}
