internal import Glibc

/// Whether this process can be told from those of other users: whether its uid stands for them, too.
package func isOwnUserKnown() -> Bool {
  !standsForStrangers(
    uid: geteuid(), overflowUID: text(ofProcFile: "/proc/sys/kernel/overflowuid"),
    map: text(ofProcFile: "/proc/self/uid_map"))
}
