import Foundation
import Subprocess
import SystemPackage
import Testing

/// The exit status and the output of a command.
struct CommandResult {
  let status: TerminationStatus
  let output: String
  let error: String
}

/// Runs a command in a home with the given standard input.
func command(
  _ name: String, _ arguments: [String] = [], in home: Home, input: String = ""
) async throws -> CommandResult {
  guard input.utf8.count <= 4096 else {
    let end = try await run(
      .name(name), arguments: .init(arguments), environment: home.environment,
      input: .string(input), output: .string(limit: 4 << 20), error: .string(limit: 1 << 20))
    return CommandResult(
      status: end.terminationStatus, output: end.standardOutput, error: end.standardError)
  }
  let end = try await run(
    .name(name), arguments: .init(arguments), environment: home.environment,
    input: .fileDescriptor(
      .init(rawValue: filledPipe(input)), closeAfterSpawningProcess: true),
    output: .string(limit: 4 << 20), error: .string(limit: 1 << 20))
  return CommandResult(
    status: end.terminationStatus, output: end.standardOutput, error: end.standardError)
}

/// Returns the end of a pipe from which a text can be read.
///
/// Subprocess crashes if a command ends before its input is written.
private func filledPipe(_ text: String) throws -> CInt {
  var ends: [CInt] = [-1, -1]
  try #require(unsafe pipe(&ends) == 0)
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  defer { close(ends[1]) }
  let bytes = Array(text.utf8)
  try #require(unsafe write(ends[1], bytes, bytes.count) == bytes.count)
  return ends[0]
}

/// Runs the reader of Tests/Reader on the store of a home, with Debian's Python and PyNaCl.
func readStore(_ home: Home, _ options: [String] = []) async throws -> String {
  let reader = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Reader/kist_reader.py").path
  let end = try await command(
    "python3", [reader, home.store, "--key-file", home.keyFile] + options, in: home)
  try #require(end.status == .exited(0), "\(end.error)")
  return end.output
}
