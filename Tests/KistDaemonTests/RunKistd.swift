import Foundation

@testable import KistDaemon

/// Runs kistd in this process, which is a test's own, with nothing of the environment of the user
/// who runs the tests: no session bus, and so no keyring, and no home but this one.
func runKistd(_ arguments: [String], home: String) async -> Never {
  clearenv()
  for (name, value) in ["HOME": home, "PATH": "/usr/bin:/bin"] { unsafe setenv(name, value, 1) }
  await runKistd(arguments)
}
