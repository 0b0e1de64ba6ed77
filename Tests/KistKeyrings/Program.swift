package import Foundation
import Glibc
import Synchronization

/// The exit status and the output of a program.
package struct Output: Sendable {
  /// The exit status; `nil` if a signal ended the program, or if it still runs.
  package let status: CInt?
  package let bytes: Data
  package let errors: String

  package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// A program of a session.
///
/// Its input and output are files in the folder of the session, so that no pipe can fill up.
final class Program: Sendable {
  private let child: Spawned
  private let waitStatus = Mutex<CInt?>(nil)
  private let files: String
  private let warden: Warden

  init(
    _ program: String, _ arguments: [String], input: Data, environment: [String: String],
    files: String, warden: Warden
  ) throws {
    self.files = files
    self.warden = warden
    try input.write(to: URL(filePath: files + ".in"))
    let descriptors = [
      try openFile(files + ".in", O_RDONLY),
      try openFile(files + ".out", O_WRONLY | O_CREAT | O_APPEND),
      try openFile(files + ".err", O_WRONLY | O_CREAT | O_APPEND),
    ]
    defer { for descriptor in descriptors { close(descriptor) } }
    child = try Spawned(
      program, arguments, environment: environment,
      input: descriptors[0], output: descriptors[1], errors: descriptors[2])
    warden.watch(child.identifier)
  }

  var processIdentifier: CInt { child.identifier }
  var isRunning: Bool { ended() == nil }

  /// The output so far, and the exit status once the program has ended.
  var output: Output {
    let status = ended().flatMap { $0 & 0x7f == 0 ? $0 >> 8 & 0xff : nil }
    return Output(
      status: status,
      bytes: (try? Data(contentsOf: URL(filePath: files + ".out"))) ?? Data(),
      errors: (try? String(contentsOfFile: files + ".err", encoding: .utf8)) ?? "")
  }

  /// Sends a signal to the program and its children, unless it has ended.
  func kill(_ signal: CInt = SIGKILL) {
    waitStatus.withLock { status in
      if status == nil { _ = Glibc.kill(-child.identifier, signal) }
    }
  }

  /// A sentence about the end of the program and its last output; `nil` while it runs.
  var ending: String? {
    ended().map { status in
      let signal = status & 0x7f
      let how = signal == 0 ? "with status \(status >> 8 & 0xff)" : "by signal \(signal)"
      return "it ended \(how), and wrote: \(output.errors.suffix(2000))"
    }
  }

  func waitUntilEnded() async {
    while isRunning { await pause() }
  }

  /// Stops the program with SIGTERM, or with SIGKILL if it does not end.
  func end(_ signal: CInt = SIGTERM) async {
    kill(signal)
    let insistence = Task {
      try await Task.sleep(for: .unlessHung)
      kill()
    }
    await waitUntilEnded()
    insistence.cancel()
  }

  /// The status from wait(2); `nil` while the program runs.
  private func ended() -> CInt? {
    waitStatus.withLock { status in
      if status == nil, let ended = child.status() {
        // While the lock is held, no thread sends a signal to a reused process ID.
        warden.forget(child.identifier)
        status = ended
      }
      return status
    }
  }
}
