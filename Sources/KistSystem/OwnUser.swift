internal import Glibc

/// Returns whether this process's uid belongs only to its own user, and not to unmapped users too.
package func isOwnUserKnown() -> Bool {
  !representsOtherUsers(
    uid: geteuid(), overflowUID: text(ofProcFile: "/proc/sys/kernel/overflowuid"),
    map: text(ofProcFile: "/proc/self/uid_map"))
}

/// Returns whether the kernel also shows other users with this uid.
///
/// These are users that the process's user namespace does not map (user_namespaces(7), "Unmapped
/// user and group IDs"). A process with such a uid cannot distinguish its own user from them.
///
/// - Parameters:
///   - overflowUID: the text of /proc/sys/kernel/overflowuid, where it can be read.
///   - map: the text of /proc/self/uid_map, where it can be read.
package func representsOtherUsers(
  uid: UInt32, overflowUID: String?, map: @autoclosure () -> String?
) -> Bool {
  guard uid == overflowUID.flatMap({ numbers(in: $0).first }) ?? 65534 else { return false }
  let rows = (map() ?? "").split(separator: "\n").map { numbers(in: $0) }
  return rows.reduce(0) { $0 + UInt64($1.last ?? 0) } < UInt32.max
}

private func numbers(in text: some StringProtocol) -> [UInt32] {
  text.split(whereSeparator: \.isWhitespace).compactMap { UInt32($0) }
}
