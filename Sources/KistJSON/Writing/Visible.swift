package import KistCore

/// Returns equal JSON in which every character that misleads on a terminal is an escape.
///
/// The writer has already escaped the control characters. The others are only in strings, because
/// the rest of JSON is ASCII.
package func visible(json: Secret) -> Secret {
  json.withBytes { bytes in
    var visible = WipedBytes(capacity: bytes.count)
    var (start, offset) = (0, 0)
    while offset < bytes.count {
      let character = offset
      guard let scalar = try? utf8Scalar(bytes, at: &offset) else {
        offset += 1
        continue
      }
      guard !scalar.isASCII, scalar.isMisleading else { continue }
      visible.append(bytes.extracting(start..<character))
      for unit in UTF16.encode(scalar)! {
        let digits = String(unit, radix: 16)
        visible.append(utf8: "\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
      }
      start = offset
    }
    visible.append(bytes.extracting(start..<bytes.count))
    return Secret(visible)
  }
}
