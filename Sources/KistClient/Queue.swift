internal import Glibc
private import Synchronization

/// A queue from tasks, which put elements in without waiting, to one thread, which waits to take
/// them out.
package final class Queue<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])
  // One post for each element, and one for the end.
  private let signal = Semaphore()

  package init() {}

  package func put(_ element: Element) {
    elements.withLock { $0.append(element) }
    signal.post()
  }

  /// Waits for the next element; returns `nil` when the queue is closed and empty.
  package func take() -> Element? {
    signal.wait()
    return elements.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }

  /// Ends the queue after its remaining elements are taken.
  ///
  /// Nothing may be put in afterwards.
  package func close() { signal.post() }
}

/// A counting semaphore: sem_overview(7).
@safe
private final class Semaphore: @unchecked Sendable {
  // `sem_t` must not move in memory.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { unsafe sem_init(semaphore, 0, 0) }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  func post() { unsafe sem_post(semaphore) }

  func wait() { while unsafe sem_wait(semaphore) != 0 {} }  // Only EINTR can fail it.
}
