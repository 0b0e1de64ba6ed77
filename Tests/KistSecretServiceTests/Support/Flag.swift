#if SecretService
  import Synchronization

  /// A flag that tests change.
  final class Flag: Sendable {
    private let flag: Atomic<Bool>
    init(_ value: Bool) { flag = Atomic(value) }
    var value: Bool {
      get { flag.load(ordering: .relaxed) }
      set { flag.store(newValue, ordering: .relaxed) }
    }
  }
#endif
