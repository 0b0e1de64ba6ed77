#if SecretService
  import CSystemd
  @testable import KistBus

  extension Bus {
    /// Sends a call without waiting for its reply.
    ///
    /// sd-bus asks for no reply if it is given no cookie.
    func sendExpectingReply(_ call: BusMessage) {
      var cookie: UInt64 = 0
      unsafe mustSucceed(sd_bus_send(bus, call.pointer, &cookie))
    }
  }

  extension BusMessage {
    /// Writes a file descriptor, of which the message gets a copy.
    func write(descriptor: CInt) {
      var descriptor = descriptor
      unsafe mustSucceed(sd_bus_message_append_basic(pointer, type("h"), &descriptor))
    }
  }
#endif
