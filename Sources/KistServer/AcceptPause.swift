internal import NIOCore

/// Stops a listener for a second after an error of accept(2), for example EMFILE.
///
/// NIO's own handler for this does not work: after an error, NIO still asks the kernel which clients
/// it can accept. The client that caused the error still waits, so the kernel reports it again and again, and
/// the event loop would use a whole processor.
///
/// Add it as the first handler of a listener.
final class AcceptPause: ChannelInboundHandler, Sendable {
  typealias InboundIn = Channel

  private static let length = TimeAmount.seconds(1)

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let channel = context.channel
    try? channel.syncOptions?.setOption(.autoRead, value: false)
    context.eventLoop.scheduleTask(in: Self.length) {
      try? channel.syncOptions?.setOption(.autoRead, value: true)
    }
    context.fireErrorCaught(error)
  }
}

extension Channel {
  func addAcceptPause() -> EventLoopFuture<Void> {
    eventLoop.makeCompletedFuture { try pipeline.syncOperations.addHandler(AcceptPause()) }
  }
}
