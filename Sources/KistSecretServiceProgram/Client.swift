internal import KistBus
internal import KistSecretService
internal import KistWire

/// A program on the bus, with its calls that wait.
final class Client {
  /// The unique name of its connection.
  let name: String
  /// Whether it left the bus, so that its calls need no answers.
  var hasLeft = false
  /// Whether the program runs as this user; `nil` until the bus was asked.
  var isOwn: Bool?
  /// The program for kistd's audit log.
  var program: ClaimedProgram?
  /// Whether its calls are being answered.
  var isServed = false
  /// The calls of the portal that are being answered, beside the others.
  var portalCalls = 0
  private var calls: [(message: BusMessage?, size: Int)] = []
  /// The place of the next call; those before it were answered.
  private var next = 0
  private var size = 0

  init(_ name: String) { self.name = name }

  var isBusy: Bool { isServed || portalCalls > 0 }

  /// Adds a call that waits for those before it.
  func add(_ call: BusMessage) throws {
    // The size of a call that is answered at once does not matter.
    let limit = ServiceLimits.waitingBytes
    let callSize = isServed ? try call.size(countingUpTo: limit) : 0
    guard calls.count - next < ServiceLimits.waitingCalls, size + callSize <= limit else {
      throw ServiceError.overLimit("too many calls wait; read their replies")
    }
    calls.append((call, callSize))
    size += callSize
  }

  /// Returns the call that came first, and removes it.
  func takeCall() -> BusMessage? {
    guard next < calls.count else { return nil }
    let call = calls[next]
    // The message has the descriptor of a portal's reader, which waits until it is closed.
    calls[next].message = nil
    next += 1
    size -= call.size
    if next == 64 || next == calls.count {
      calls.removeFirst(next)
      next = 0
    }
    return call.message
  }
}
