import KistCore
import KistTerminal
import KistTesting
import Synchronization

@testable import KistCommands

/// What a command wrote.
final class Recorder: Sendable {
  private let written = Mutex((output: "", error: ""))

  var output: String { written.withLock(\.output) }
  var error: String { written.withLock(\.error) }

  /// A terminal that is not there: reads what a test gives it and records what is written.
  func terminal(
    input: Secret = Secret(utf8: ""), typed: [String] = [], isTerminal: Bool = false,
    outputIsTerminal: Bool? = nil, hasColors: Bool = false, width: Int = 80,
    outputIsPrivate: Bool = false, errorWidth: Int? = nil,
    signals: @escaping @Sendable () -> CInt? = { nil }
  ) -> Terminal {
    let answers = Answers(typed)
    let unread = Mutex(input)
    return Terminal(
      inputIsTerminal: isTerminal, canAsk: isTerminal,
      outputIsTerminal: outputIsTerminal ?? isTerminal,
      outputHasColors: hasColors,
      outputWidth: width, outputIsPrivate: outputIsPrivate, errorWidth: errorWidth,
      readPiece: { () throws(StorageError) in
        unread.withLock { input in
          defer { input = Secret(utf8: "") }
          return input
        }
      },
      ask: { _ throws(StorageError) in try answers.next().text },
      askHidden: { _ throws(StorageError) in try answers.next() },
      writeBytes: { bytes throws(StorageError) in
        self.written.withLock { $0.output += bytes.text }
      },
      writeError: { bytes in self.written.withLock { $0.error += bytes.text } },
      noteSignals: { () throws(StorageError) in
        NotedSignals(
          first: signals, end: {},
          raiseUnblocked: { number in self.written.withLock { $0.error += "signal \(number)\n" } })
      },
      now: { .sample })
  }
}

private final class Answers: Sendable {
  private let rest: Mutex<[String]>
  init(_ answers: [String]) { rest = Mutex(answers) }

  func next() throws(StorageError) -> Secret {
    guard let answer = rest.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
      throw .badRequest("nothing was typed")
    }
    return Secret(utf8: answer)
  }
}

extension Secret {
  /// The bytes as text, each that is not UTF-8 replaced.
  var text: String {
    withBytes { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
  }
}
