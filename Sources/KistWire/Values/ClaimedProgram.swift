internal import KistCore
package import KistJSON

/// The program for which a client, such as kist-secret-service, makes a request.
///
/// kistd cannot check this claim. It only records the claim in the audit log.
package struct ClaimedProgram: Sendable, Equatable, JSONMembers {
  /// The name of the program, at most 128 bytes.
  package var program: String?
  package var pid: Int?
  /// The systemd unit of the program, at most 255 bytes.
  package var unit: String?

  package init(program: String? = nil, pid: Int? = nil, unit: String? = nil) {
    self.program = program
    self.pid = pid
    self.unit = unit
  }

  /// The maximum number of bytes of a program's name.
  package static let longestProgram = 128
  /// The maximum number of bytes of a unit's name.
  ///
  /// systemd has the same maximum.
  package static let longestUnit = 255

  /// Reads the claim of a request, and refuses one that exceeds a limit.
  init(checking object: JSONObject) throws(JSONError) {
    try object.refuseKeys(except: ["program", "pid", "unit"])
    try self.init(object)
    try Self.check(object["program"], limit: Self.longestProgram)
    try Self.check(object["unit"], limit: Self.longestUnit)
    if let value = object["pid"], let pid, !(1...Int(Int32.max)).contains(pid) {
      throw value.error("must be from 1 to \(Int32.max)")
    }
  }

  private static func check(_ value: JSONValue?, limit: Int) throws(JSONError) {
    guard let value else { return }
    let text = try value.string()
    guard (1...limit).contains(text.utf8.count), !text.unicodeScalars.contains(where: \.isControl)
    else { throw value.error("must have 1 to \(limit) bytes and no control characters") }
  }

  /// Reads the claim in a record of the audit log.
  init(_ object: JSONObject) throws(JSONError) {
    self.init(
      program: try object["program"]?.string(), pid: try object["pid"]?.integer(),
      unit: try object["unit"]?.string())
  }

  package func write(to writer: inout JSONWriter) {
    writer.member("program", program)
    writer.member("pid", pid)
    writer.member("unit", unit)
  }
}
