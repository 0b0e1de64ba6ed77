internal import KistBus
internal import KistCore
internal import KistSystem
internal import KistWire

/// The program on the bus whose call the current task answers.
///
/// Calls of several programs wait for kistd at the same time, so each task has its own value.
enum Caller {
  @TaskLocal static var program: ClaimedProgram?
}

extension ClaimedProgram {
  /// Describes a process as kistd describes its own clients; `nil` if the pid cannot be one.
  init?(process: UInt32) {
    guard let pid = Int32(exactly: process), pid > 0 else { return nil }
    let name = text(ofProcFile: "/proc/\(pid)/comm")?.split(separator: "\n").first
    self.init(
      // kistd refuses control characters, which every process can put into its name.
      program: name.map { String($0).replacingControls },
      pid: Int(pid),
      unit: text(ofProcFile: "/proc/\(pid)/cgroup").flatMap { ProcessUnit(cgroup: $0)?.name })
  }
}

extension String {
  fileprivate var replacingControls: String {
    String(String.UnicodeScalarView(unicodeScalars.map { $0.isControl ? "\u{FFFD}" : $0 }))
  }
}

extension BusMessage {
  /// Reads the reply of GetConnectionCredentials.
  func readCredentials() throws(BusError) -> (user: UInt32?, process: UInt32?) {
    var user: UInt32?
    var process: UInt32?
    try readVariants { name throws(BusError) in
      switch name {
      case "UnixUserID": user = try readVariant(of: "u") { () throws(BusError) in try readUInt32() }
      case "ProcessID":
        process = try readVariant(of: "u") { () throws(BusError) in try readUInt32() }
      default: try skip("v")
      }
    }
    return (user, process)
  }
}
