internal import KistCore
internal import KistJSON

/// A link of the chain: members at the end of a line.
///
/// They authenticate all lines since the previous link. Some of these lines may be from another
/// program, or from a kistd without a key (`unchained`). For these, the link proves only that they did
/// not change later.
package struct AuditLink: Sendable, Equatable {
  /// The number of lines since the chain began, including this one.
  package var number: Int
  /// The chain value before this link.
  ///
  /// `nil` means: take it from the previous link in the file.
  package var after: [UInt8]?
  /// The number of lines that kistd wrote without a key, or that another program wrote.
  ///
  /// They are between the previous link and the block of this link.
  package var unchained: Int
  /// Whether kistd knows that another program wrote to the file since kistd's last write.
  package var isForeign: Bool

  package init(number: Int, after: [UInt8]?, unchained: Int, isForeign: Bool) {
    self.number = number
    self.after = after
    self.unchained = unchained
    self.isForeign = isForeign
  }

  /// The number of bytes of a chain value.
  package static let chainSize = 16
  /// The maximum number of bytes that a link adds to a line.
  package static let longest = 160

  private static let beforeNumber: StaticString = ",\"number\":"
  private static let beforeChain: StaticString = ",\"chain\":\""
  /// The number of bytes from the comma before `"chain":` to the end of a line.
  private static let tail =
    beforeChain.utf8CodeUnitCount + base64Count(of: chainSize)
    + ParsedAuditLine.afterNames.utf8CodeUnitCount

  /// The members of the link, without `chain`: the text between the content of a line and
  /// `,"chain":`.
  package var members: [UInt8] {
    var text = WipedBytes(capacity: Self.longest)
    Self.beforeNumber.withBytes { text.append($0) }
    text.append(decimal: number)
    if let after {
      text.append(utf8: ",\"after\":\"")
      appendBase64(after.span, to: &text)
      text.append(UInt8(ascii: "\""))
    }
    if unchained > 0 {
      text.append(utf8: ",\"unchained\":")
      text.append(decimal: unchained)
    }
    if isForeign { text.append(utf8: ",\"foreign\":true") }
    return text.withBytes { [UInt8](copying: $0) }
  }

  /// Returns the text after these members: the chain value and the end of the line.
  package static func end(with chain: [UInt8]) -> [UInt8] {
    var text = WipedBytes(capacity: tail + 1)
    beforeChain.withBytes { text.append($0) }
    appendBase64(chain.span, to: &text)
    text.append(utf8: "\"}\n")
    return text.withBytes { [UInt8](copying: $0) }
  }

  /// Returns the range of a link in a line, with its `chain`: from the comma before `"number"` to the
  /// quote after the chain value.
  static func range(in line: Span<UInt8>) -> Range<Int>? {
    guard line.count > tail, matches(beforeChain, in: line, at: line.count - tail) else {
      return nil
    }
    let end = line.count - tail
    for start in stride(from: end, through: max(0, end - longest), by: -1)
    where matches(beforeNumber, in: line, at: start) {
      return start..<line.count - 1
    }
    return nil
  }

  private static func matches(_ text: StaticString, in line: Span<UInt8>, at offset: Int) -> Bool {
    text.withBytes { text in
      offset + text.count <= line.count
        && text.indices.allSatisfy { text[$0] == line[offset + $0] }
    }
  }

  /// Reads the link and the chain value of a line without its newline; `nil` if it has no link.
  package static func read(_ line: [UInt8]) -> (link: AuditLink, chain: [UInt8])? {
    guard let range = range(in: line.span), let brace = line.last else { return nil }
    let text = [UInt8(ascii: "{")] + line[range].dropFirst() + [brace]
    guard
      let object = try? JSONObject(Secret(copying: text)),
      let number = try? object.required("number").integer(), (1...maximum).contains(number),
      let chain = bytes(object["chain"]), chain.count == chainSize
    else { return nil }
    let after = bytes(object["after"])
    let unchained = (try? object["unchained"]?.integer()) ?? 0
    guard after.map({ $0.count == chainSize }) ?? true, (0...maximum).contains(unchained) else {
      return nil
    }
    return (
      AuditLink(
        number: number, after: after, unchained: unchained,
        isForeign: (try? object["foreign"]?.bool()) ?? false), chain
    )
  }

  /// The maximum of `number`: the largest integer that the protocol allows in a reply.
  private static let maximum = (1 << 53) - 1

  private static func bytes(_ value: JSONValue?) -> [UInt8]? {
    (try? value?.base64())?.withBytes { [UInt8](copying: $0) }
  }

  /// Returns the bytes that the chain authenticates in a line with a link: all before `,"chain":`.
  package static func covered(of line: [UInt8]) -> ArraySlice<UInt8> { line.dropLast(tail) }
}
