import KistCore
import KistTesting
import KistWire
import Testing

private let times = #""createdAt":"2026-11-20T10:00:00Z","modifiedAt":"2026-11-20T10:00:00Z""#

private let summary =
  #"{"service":"example.org","account":"alice","attributes":{},\#(times),"revision":"sample.1"}"#

private let whole = NewCredential.sample(
  secret: "a\"b\\c\nd", label: "Alice’s “key”",
  attributes: ["url": "https://example.org/", "b": ""],
  expiresAt: Timestamp(rfc3339: "2027-01-01T00:00:00Z"))

private let wholeMembers =
  #""label":"Alice’s “key”","attributes":{"b":"","url":"https://example.org/"}"#

extension Golden {
  static let table = changes + loads + finds + accesses + keySlots + backups + audits + watches

  private static let changes: [Golden] = [
    .calling(
      \.credentials.save, "save the least",
      #"{"op":"save","service":"example.org","account":"alice","secret":"correct horse"}"#,
      #"{"ok":true,"credential":\#(summary)}"#, SaveRequest(credential: .sample()), .sample()),
    .calling(
      \.credentials.save, "save everything",
      #"{"op":"save","service":"example.org","account":"alice","secret":"a\"b\\c\nd","#
        + #"\#(wholeMembers),"expiresAt":"2027-01-01T00:00:00Z","ifRevision":"sample.7"}"#,
      #"{"ok":true,"credential":{"service":"example.org","account":"alice",\#(wholeMembers),"#
        + #"\#(times),"expiresAt":"2027-01-01T00:00:00Z","revision":"sample.8"}}"#,
      SaveRequest(credential: whole, condition: .ifRevision(Revision(rawValue: "sample.7"))),
      .sample(of: whole, revision: "sample.8")),
    .calling(
      \.credentials.save, "save only if absent",
      #"{"op":"save","service":"example.org","account":"","secret":"","ifRevision":null}"#,
      #"{"ok":true,"credential":{"service":"example.org","account":"","attributes":{},\#(times),"#
        + #""revision":"sample.1"}}"#,
      SaveRequest(
        credential: .sample(CredentialKey(service: "example.org"), secret: ""), condition: .ifAbsent
      ), .sample(of: .sample(CredentialKey(service: "example.org")))),
    .calling(
      \.credentials.save, "save and keep what is not given",
      #"{"op":"save","service":"example.org","account":"alice","secret":"correct horse","#
        + #""keep":["label","attributes","expiresAt"]}"#,
      #"{"ok":true,"credential":\#(summary)}"#,
      SaveRequest(credential: .sample(), keep: .all), .sample()),
    .calling(
      \.credentials.save, "save at a revision and keep one field",
      #"{"op":"save","service":"example.org","account":"alice","secret":"correct horse","#
        + #""ifRevision":"sample.7","keep":["expiresAt"]}"#,
      #"{"ok":true,"credential":\#(summary)}"#,
      SaveRequest(
        credential: .sample(), condition: .ifRevision(Revision(rawValue: "sample.7")),
        keep: .expiresAt), .sample()),
    .calling(
      \.credentials.save, "save bytes",
      #"{"op":"save","service":"example.org","account":"alice","secretBase64":"AP/+"}"#,
      #"{"ok":true,"credential":\#(summary)}"#,
      SaveRequest(
        credential: NewCredential(key: .sample, secret: Secret(copying: [0x00, 0xFF, 0xFE]))),
      .sample()),
    .calling(
      \.credentials.delete, "delete", #"{"op":"delete","service":"example.org","account":"alice"}"#,
      #"{"ok":true,"deleted":true}"#, DeleteRequest(key: .sample), true),
    .calling(
      \.credentials.delete, "delete at a revision",
      #"{"op":"delete","service":"example.org","account":"alice","ifRevision":"sample.1"}"#,
      #"{"ok":true,"deleted":false}"#,
      DeleteRequest(key: .sample, ifRevision: Revision(rawValue: "sample.1")), false),
  ]

  private static let loads: [Golden] = [
    .calling(
      \.credentials.load, "load text", #"{"op":"load","service":"example.org","account":"alice"}"#,
      #"{"ok":true,"credential":{\#(summary.dropFirst().dropLast()),"secret":"correct horse"}}"#,
      LoadRequest(key: .sample),
      Credential(summary: .sample(), secret: Secret(utf8: "correct horse"))),
    .calling(
      \.credentials.load, "load bytes, even if expired",
      #"{"op":"load","service":"example.org","account":"alice","allowExpired":true}"#,
      #"{"ok":true,"credential":{\#(summary.dropFirst().dropLast()),"secretBase64":"gA=="}}"#,
      LoadRequest(key: .sample, allowExpired: true),
      Credential(summary: .sample(), secret: Secret(copying: [0x80]))),
    .calling(
      \.credentials.load, "load from a copy that may be old",
      #"{"op":"load","service":"example.org","account":"alice","maxStale":60}"#,
      #"{"ok":true,"credential":{\#(summary.dropFirst().dropLast()),"secret":"x","asOf":"2026-11-20T10:00:00Z"}}"#,
      LoadRequest(key: .sample, maxStale: 60),
      Credential(
        summary: .sample(), secret: Secret(utf8: "x"),
        asOf: Timestamp(rfc3339: "2026-11-20T10:00:00Z"))),
  ]

  private static let finds: [Golden] = [
    .calling(
      \.credentials.find, "find everything", #"{"op":"find"}"#, #"{"ok":true,"credentials":[]}"#,
      CredentialQuery(),
      CredentialPage(credentials: [])),
    .calling(
      \.credentials.find, "find a page",
      #"{"op":"find","service":"example.org","account":"","attributes":{"b":"","url":"x"},"#
        + #""limit":2,"after":"cursor"}"#,
      #"{"ok":true,"credentials":[\#(summary),\#(summary)],"next":"another"}"#,
      CredentialQuery(
        service: "example.org", account: "", attributes: ["url": "x", "b": ""], limit: 2,
        after: "cursor"),
      CredentialPage(credentials: [.sample(), .sample()], next: "another")),
  ]

  private static let audits: [Golden] = [
    .calling(
      \.audit.find, "audit everything", #"{"op":"audit"}"#, #"{"ok":true,"records":[]}"#,
      AuditQuery(),
      AuditPage()),
    .calling(
      \.audit.find, "audit a page",
      #"{"op":"audit","service":"example.org","account":"","operation":"load","outcome":"ok","#
        + #""since":"2026-11-20T10:00:00Z","unit":"app.service","pid":42,"limit":5,"after":"cursor"}"#,
      #"{"ok":true,"records":[{"time":"2026-11-20T10:00:00.007Z","operation":"load","outcome":"ok","#
        + #""microseconds":17,"pid":42,"uid":1000,"unit":"app.service","claims":"p\u0007ql","#
        + #""evidence":"pidfd","service":"example.org","account":""},"#
        + #"{"time":"2026-11-20T10:00:00.000Z","outcome":"badRequest","microseconds":3,"pid":7,"#
        + #""uid":1000,"evidence":"gone"},"#
        + #"{"time":"2026-11-20T10:00:00.000Z","operation":"save","outcome":"conflict","#
        + #""microseconds":3,"pid":7,"uid":1000,"evidence":"gone","sealed":"locked"},"#
        + #"{"time":"2026-11-20T10:00:00.000Z","lost":3}],"next":"another","skipped":2}"#,
      {
        var query = AuditQuery()
        query.names = RequestedNames(service: "example.org", account: "")
        query.operation = "load"
        query.outcome = "ok"
        query.since = .sample
        query.unit = "app.service"
        query.pid = 42
        query.limit = 5
        query.after = "cursor"
        return query
      }(), AuditPage(records: auditRecords, next: "another", skipped: 2)),
    .asking(
      \.audit.verify, "auditVerify of a log as it was written", #"{"op":"auditVerify"}"#,
      #"{"ok":true,"verified":0,"unchained":0,"unchecked":0}"#, AuditVerdict()),
    .asking(
      \.audit.verify, "auditVerify of a log that was changed", #"{"op":"auditVerify"}"#,
      #"{"ok":true,"verified":7,"unchained":2,"unchecked":1,"since":"2026-11-20T10:00:00.007Z","#
        + #""until":"2026-11-20T10:00:00.008Z","fault":{"kind":"removed","file":"audit.jsonl","#
        + #""first":8,"last":9,"count":3}}"#,
      {
        var verdict = AuditVerdict()
        verdict.verified = 7
        verdict.unchained = 2
        verdict.unchecked = 1
        verdict.since = AuditRecord.Moment(second: .sample, milliseconds: 7)
        verdict.until = AuditRecord.Moment(second: .sample, milliseconds: 8)
        verdict.fault = AuditVerdict.Fault(.removed, file: "audit.jsonl", lines: 8...9, count: 3)
        return verdict
      }()),
  ]

  private static let auditRecords: [AuditRecord] = {
    let gone = AuditedPeer(pid: 7, uid: 1000, unit: nil, claimedName: nil, evidence: .gone)
    let start = AuditRecord.Moment(second: .sample, milliseconds: 0)
    return [
      AuditRecord(
        moment: AuditRecord.Moment(second: .sample, milliseconds: 7),
        event: .request(
          AuditedRequest(
            operation: "load", failure: nil, microseconds: 17,
            peer: AuditedPeer(
              pid: 42, uid: 1000, unit: "app.service", claimedName: "p\u{7}ql", evidence: .pidfd),
            names: .open(RequestedNames(service: "example.org", account: ""))))),
      AuditRecord(
        moment: start,
        event: .request(
          AuditedRequest(operation: nil, failure: .badRequest, microseconds: 3, peer: gone))),
      AuditRecord(
        moment: start,
        event: .request(
          AuditedRequest(
            operation: "save", failure: .conflict, microseconds: 3, peer: gone,
            names: .sealed(.locked)))),
      AuditRecord(moment: start, event: .lost(3)),
    ]
  }()

  private static let watches: [Golden] = [
    .watching(
      "watch all", #"{"op":"watch"}"#, #"{"ok":true,"position":"sample.7"}"#, nil,
      Revision(rawValue: "sample.7")),
    .watching(
      "watch a service of a storage without positions",
      #"{"op":"watch","service":"example.org"}"#, #"{"ok":true}"#, "example.org", nil),
  ]

  private static let bothSlots =
    #"{"ok":true,"slots":[{"number":1,"kind":"keyFile"},"#
    + #"{"number":2,"kind":"passphrase","passes":3,"kibibytes":262144}]}"#

  private static let keySlots: [Golden] = {
    let both = [
      KeySlotSummary(number: 1, kind: .keyFile),
      KeySlotSummary(number: 2, kind: .passphrase, passes: 3, kibibytes: 262_144),
    ]
    return [
      .asking(\.keySlots.list, "slots", #"{"op":"slots"}"#, bothSlots, both),
      .asking(
        \.keySlots.list, "slots of a kind that kistd does not know", #"{"op":"slots"}"#,
        #"{"ok":true,"slots":[{"number":3,"kind":"unknown"}]}"#,
        [KeySlotSummary(number: 3, kind: .unknown)]),
      .calling(
        \.keySlots.add, "slotAdd the least", #"{"op":"slotAdd","passphrase":"new"}"#, bothSlots,
        KeySlotAddition(passphrase: Secret(utf8: "new")), both),
      .calling(
        \.keySlots.add, "slotAdd in the place of the one that is given",
        #"{"op":"slotAdd","passphrase":"new","current":"old","replaceCurrent":true}"#, bothSlots,
        KeySlotAddition(
          passphrase: Secret(utf8: "new"), current: Secret(utf8: "old"), replacesCurrent: true),
        both),
      .calling(
        \.keySlots.add, "slotAdd with the key of a file, of a short passphrase",
        #"{"op":"slotAdd","passphrase":"new","currentKey":"AAECAw==","weak":true}"#, bothSlots,
        KeySlotAddition(
          passphrase: Secret(utf8: "new"), currentKey: Secret(copying: [0, 1, 2, 3]),
          allowsWeak: true), both),
      .calling(
        \.keySlots.remove, "slotRemove with the key of a file",
        #"{"op":"slotRemove","number":2,"currentKey":"AAECAw=="}"#, bothSlots,
        KeySlotRemoval(number: 2, currentKey: Secret(copying: [0, 1, 2, 3])), both),
      .calling(
        \.keySlots.remove, "slotRemove", #"{"op":"slotRemove","number":2,"current":"old"}"#,
        bothSlots,
        KeySlotRemoval(number: 2, current: Secret(utf8: "old")), both),
    ]
  }()

  private static let backups: [Golden] = [
    .calling(
      \.backups.make, "backup", #"{"op":"backup","passphrase":"its own"}"#,
      #"{"ok":true,"backup":"4f1d","size":16384,"count":2}"#,
      .begin(passphrase: Secret(utf8: "its own")),
      .made(Backup(id: "4f1d", size: 16384, count: 2))),
    .calling(
      \.backups.make, "backup of a short passphrase",
      #"{"op":"backup","passphrase":"short","weak":true}"#,
      #"{"ok":true,"backup":"4f1d","size":16384,"count":2}"#,
      .begin(passphrase: Secret(utf8: "short"), allowsWeak: true),
      .made(Backup(id: "4f1d", size: 16384, count: 2))),
    .calling(
      \.backups.make, "backup that is being made", #"{"op":"backup","backup":"4f1d"}"#,
      #"{"ok":true,"backup":"4f1d","copied":1,"count":2}"#, .poll(id: "4f1d"),
      .copied(1, of: 2, id: "4f1d")),
    .calling(
      \.backups.read, "backupPart", #"{"op":"backupPart","backup":"4f1d","offset":16380}"#,
      #"{"ok":true,"data":"AAECAw=="}"#, BackupPart(of: "4f1d", from: 16380),
      Secret(copying: [0, 1, 2, 3])),
  ]
}
