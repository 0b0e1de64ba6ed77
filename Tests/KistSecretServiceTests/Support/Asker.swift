#if SecretService
  import KistCore
  import KistSecretService
  import Synchronization

  /// A user in a test, who may leave questions open.
  final class Asker: Sendable {
    private struct State {
      var questions: [String] = []
      var open: [Int: AsyncStream<Void>.Continuation] = [:]
      var reports: [String] = []
    }
    private let state = Mutex(State())
    private let passphrase: Secret?
    private let confirms: Bool
    private let hesitates: Bool
    private let whenConfirmed: @Sendable () async -> Void

    /// - Parameter hesitates: whether a question stays open until `answer`, or until the prompt ends.
    init(
      passphrase: String? = nil, confirms: Bool = false, hesitates: Bool = false,
      whenConfirmed: @escaping @Sendable () async -> Void = {}
    ) {
      self.passphrase = passphrase.map { Secret(utf8: $0) }
      self.confirms = confirms
      self.hesitates = hesitates
      self.whenConfirmed = whenConfirmed
    }

    /// The questions so far.
    var questions: [String] { state.withLock { $0.questions } }
    /// The number of questions that are open.
    var openQuestions: Int { state.withLock { $0.open.count } }
    var reports: [String] { state.withLock { $0.reports } }

    /// Answers the open questions; there must be one.
    func answer() {
      let open = state.withLock { state in
        defer { state.open = [:] }
        return state.open.values
      }
      for question in open { question.finish() }
    }

    private func hear(_ question: String) async {
      let (stream, open) = AsyncStream.makeStream(of: Void.self)
      let number = state.withLock { state in
        state.questions.append(question)
        if hesitates { state.open[state.questions.count] = open }
        return state.questions.count
      }
      guard hesitates else { return }
      for await _ in stream {}
      state.withLock { $0.open[number] = nil }
    }

    var asking: Asking {
      Asking(
        canAsk: { true },
        passphrase: { [self] question in
          await hear("\(question.wasWrong ? "wrong" : "first") \(question.window.name)")
          return passphrase.map { .passphrase($0) } ?? .dismissed
        },
        canConfirm: { true },
        confirm: { [self] confirmation in
          await hear(confirmation.details)
          if confirms { await whenConfirmed() }
          return confirms
        },
        report: { [self] text in state.withLock { $0.reports.append(text) } })
    }
  }
#endif
