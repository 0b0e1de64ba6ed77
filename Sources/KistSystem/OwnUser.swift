internal import Glibc

/// Returns whether this process's uid belongs only to its own user, and not to unmapped users too.
package func isOwnUserKnown() -> Bool {
  !standsForStrangers(
    uid: geteuid(), overflowUID: text(ofProcFile: "/proc/sys/kernel/overflowuid"),
    map: text(ofProcFile: "/proc/self/uid_map"))
}
