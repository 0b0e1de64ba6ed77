import KistCore
import KistTesting
import KistWire
import Testing

private let limits =
  #""limits":{"line":1048576,"secret":524288,"service":1024,"account":1024,"label":1024,"#
  + #""attributes":64,"attributeName":256,"attributeValue":1024,"attributesTotal":16384,"#
  + #""page":1000,"passphrase":1024}"#

extension Golden {
  static let accesses: [Golden] = [
    .asking(
      \.hello, "hello", #"{"op":"hello"}"#,
      #"{"ok":true,"protocol":1,"version":"1.0.0","operations":["audit","auditVerify","backup","backupPart","#
        + #""delete","find","hello","load","lock","save","slotAdd","slotRemove","slots","status","unlock","watch"],"features":["keep","maxStale","onBehalfOf"],\#(limits),"#
        + #""durability":"memory"}"#,
      .stub),
    .asking(\.access.status, "status of what is open", #"{"op":"status"}"#, openMembers, .stub),
    .asking(
      \.access.status, "status of what is locked", #"{"op":"status"}"#, lockedMembers, locked),
    .asking(
      \.access.status, "status of a provider with plain sessions", #"{"op":"status"}"#,
      providerMembers, ofProvider),
    .asking(
      \.access.status, "status of a shared vault", #"{"op":"status"}"#, vaultMembers, ofVault),
    .asking(\.access.lock, "lock", #"{"op":"lock"}"#, lockedMembers, locked),
    .calling(
      \.access.unlock, "unlock", #"{"op":"unlock"}"#, openMembers, nil, .stub),
    .calling(
      \.access.unlock, "unlock with a passphrase",
      #"{"op":"unlock","passphrase":"correct \"horse\""}"#,
      openMembers, Secret(utf8: "correct \"horse\""), .stub),
  ]

  private static let locked = StorageStatus(
    storage: "encrypted-file", reason: "it was asked for", isLocked: true, unlocksWith: .passphrase,
    reopensAtRestart: false, durability: .disk, keyProtection: "a passphrase (Argon2id)")

  private static let lockedMembers =
    #"{"ok":true,"status":{"storage":"encrypted-file","reason":"it was asked for","locked":true,"#
    + #""unlocksWith":"passphrase","reopensAtRestart":false,"durability":"disk","keyProtection":"a passphrase (Argon2id)","#
    + #"\#(limits)}}"#

  private static let openMembers =
    #"{"ok":true,"status":{"storage":"memory","locked":false,"reopensAtRestart":false,"#
    + #""durability":"memory","keyProtection":"there is no key","keysInRAM":false,"integrity":"ok","problem":{"code":"denied","message":"changed"},"count":2,"#
    + #"\#(limits),"uptime":60}}"#

  private static let ofVault = StorageStatus(
    storage: "shared", isLocked: false, reopensAtRestart: true, durability: .quorum,
    keyProtection: "a key file", count: 1,
    vault: SharedVaultStatus(
      members: 3, generation: 2, head: Revision(rawValue: "a.7"), confirmedAgo: 4,
      isCopyComplete: true, warnings: ["etcd has known faults"]))

  private static let vaultMembers =
    #"{"ok":true,"status":{"storage":"shared","locked":false,"reopensAtRestart":true,"#
    + #""durability":"quorum","keyProtection":"a key file","count":1,"vault":{"members":3,"#
    + #""generation":2,"head":"a.7","confirmedAgo":4,"copyComplete":true,"#
    + #""warnings":["etcd has known faults"]},\#(limits)}}"#

  private static let ofProvider = StorageStatus(
    storage: "libsecret", isLocked: true, unlocksWith: .provider, reopensAtRestart: false,
    durability: .provider, keyProtection: "its password", isSessionEncrypted: false)

  private static let providerMembers =
    #"{"ok":true,"status":{"storage":"libsecret","locked":true,"unlocksWith":"provider","#
    + #""reopensAtRestart":false,"durability":"provider","keyProtection":"its password","#
    + #""sessionEncrypted":false,\#(limits)}}"#
}
