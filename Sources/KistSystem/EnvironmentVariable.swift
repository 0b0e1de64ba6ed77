internal import Glibc

/// Returns the value of a variable in this process's environment.
package func environmentVariable(_ name: String) -> String? {
  unsafe getenv(name).map { unsafe String(cString: $0) }
}
