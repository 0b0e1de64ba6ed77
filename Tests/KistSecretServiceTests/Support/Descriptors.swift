#if SecretService
  import CSystemd
  @testable import KistBus

  extension BusMessage {
    /// Writes a file descriptor, of which the message gets a copy.
    func write(descriptor: CInt) {
      var descriptor = descriptor
      unsafe mustSucceed(sd_bus_message_append_basic(pointer, type("h"), &descriptor))
    }
  }
#endif
