internal import Glibc
internal import KistWire

/// Whether this process can be told from those of other users: whether its uid stands for them, too.
package func isOwnUserKnown() -> Bool {
  !standsForStrangers(
    uid: geteuid(), overflowUID: text(of: "/proc/sys/kernel/overflowuid"),
    map: text(of: "/proc/self/uid_map"))
}
