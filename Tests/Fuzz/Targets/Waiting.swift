import Dispatch

/// Runs a task until it ends.
func wait<Result: Sendable>(for body: @escaping @Sendable () async -> Result) -> Result {
  let (result, end) = (Box<Result?>(nil), DispatchSemaphore(value: 0))
  Task.detached {
    result.value = await body()
    end.signal()
  }
  end.wait()
  return result.value!
}

/// A variable that one thread writes before another reads it.
final class Box<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}
