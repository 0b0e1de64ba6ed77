import KistCore
import KistWire

@testable import KistVault

/// A line of the audit log: decoding, encoding and decoding again returns the same record, and
/// names are opened only where they were sealed.
let auditLines = Target("audit-lines") { input in
  var input = input
  let hasService = input.choice(of: 2) == 0
  var names = RequestedNames(service: input.text(before: 0), account: input.text(before: 0))
  if !hasService { names.service = nil }
  let changed = Int(input.byte())
  let line = Secret(copying: input.rest)
  guard let content = ParsedAuditLine(line) else { return }
  demand(
    (try? content.names(openedBy: nameSeal)) == nil, "no names are opened that were not sealed")
  let text = content.record.json()
  guard let again = ParsedAuditLine(text), !again.hasNames else {
    return demand(false, "a record that was written can be read")
  }
  demand(again.record == content.record, "a record is read as it was written")

  guard case .request(var request) = content.record.event, request.operation != "",
    names.account.map({ $0.utf8.count <= Limits.keyPart }) == true,
    (names.service?.utf8.count ?? 0) <= Limits.keyPart
  else { return }
  request.names = nil
  let record = AuditRecord(moment: content.record.moment, event: .request(request))
  let sealed = sealedLine(of: request, names, at: content.record.moment).dropLast()
  let read = ParsedAuditLine(Secret(copying: sealed))
  demand(read?.record == record, "a record is read with its names")
  demand((try? read?.names(openedBy: nameSeal)) == names, "names are read as they were written")
  checkLink(of: Array(sealed), record, names, changed)
  var forged = Array(sealed)
  forged[changed % forged.count] ^= 1
  guard let read = ParsedAuditLine(Secret(copying: forged)), read.hasNames else { return }
  demand(
    (try? read.names(openedBy: nameSeal)) == nil, "names are bound to all bytes before them")
}

private func sealedLine(
  of request: AuditedRequest, _ names: RequestedNames, at moment: AuditRecord.Moment
) -> [UInt8] {
  var note = RequestNotes.Note()
  note.operation = request.operation ?? ""
  note.failure = request.failure
  note.end = Int64(request.microseconds) * 1000
  note.names = names
  var lines = AuditLineWriter(capacity: 512, sealedBy: nameSeal)
  lines.append(note, of: AuditLineWriter.Client(request.peer), at: moment)
  return lines.block.text
}

/// A link changes nothing about the rest of a line, and is read as it was written.
private func checkLink(
  of line: [UInt8], _ record: AuditRecord, _ names: RequestedNames, _ number: Int
) {
  let link = AuditLink(
    number: number + 1, after: number % 2 == 0 ? nil : [UInt8](repeating: 7, count: 16),
    unchained: number % 3, isForeign: number % 5 == 0)
  let chain = [UInt8](repeating: UInt8(number), count: 16)
  let linked = Array((line.dropLast() + link.members + AuditLink.end(with: chain)).dropLast())
  let read = AuditLink.read(linked)
  demand(read?.link == link && read?.chain == chain, "a link is read as it was written")
  demand(
    Array(AuditLink.covered(of: linked)) == line.dropLast() + link.members,
    "the chain covers all that is before it")
  let content = ParsedAuditLine(Secret(copying: linked))
  demand(content?.record == record, "a record is read with its link")
  demand((try? content?.names(openedBy: nameSeal)) == names, "names are read before a link")
}

/// Seals names with the keys of a store.
let nameSeal = NameSeal(
  begin: {
    var sealing = try! NameSealing(storeKeys, nonce: [UInt8](repeating: 3, count: 24))
    return { sealing.seal($0, boundTo: $1, into: &$2) }
  },
  open: { sealed, text throws(StorageError) in try storeKeys.openNames(sealed, boundTo: text) },
  hash: { storeKeys.chainHash(of: $0) })
