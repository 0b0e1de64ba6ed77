internal import CLibsecret
internal import KistCore

/// A session with the provider that encrypts values on the bus.
///
/// See the Secret Service specification, "Transfer of Secrets". libsecret provides the cipher and
/// the keys. `kist_check_session_key` keeps answers without a key away from it.
struct CipherSession {
  private let service: GObjectReference

  static func open(
    on bus: SessionBus, by deadline: Deadline
  ) async throws(BusError) -> CipherSession {
    let service = unsafe GObjectReference(owning: kist_secret_service_new(bus.connection.opaque)!)
    return try await bus.loop.value(by: deadline) { pending, cancellable in
      unsafe g_async_initable_init_async(
        service.opaque, 0, cancellable.pointer, completeReply,
        pending.completion { result, error in
          unsafe g_async_initable_init_finish(service.opaque, result, &error) != 0
            ? CipherSession(service: service) : nil
        })
    }
  }

  var path: ObjectPath {
    unsafe ObjectPath(
      rawValue: String(cString: secret_service_get_session_dbus_path(service.pointer())))
  }

  /// Whether values are encrypted on the bus; a provider may offer only plain sessions.
  var isEncrypted: Bool {
    let algorithm = unsafe secret_service_get_session_algorithms(service.pointer())
    return unsafe algorithm.map { unsafe String(cString: $0) != "plain" } ?? false
  }

  /// Returns a value in the form for the bus, `(oayays)`.
  func encode(_ value: Secret) -> Variant {
    value.withBytes { bytes in
      let plain = unsafe bytes.withUnsafeBufferPointer { buffer in
        unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
          unsafe secret_value_new(buffer.baseAddress, buffer.count, "text/plain")
        }
      }
      defer { unsafe secret_value_unref(UnsafeMutableRawPointer(plain)) }
      return unsafe Variant(owning: secret_service_encode_dbus_secret(service.pointer(), plain))
    }
  }

  /// Returns the secret of a value from the bus, `(oayays)`.
  func decode(_ encoded: Variant) throws(BusError) -> Secret {
    guard
      let plain = unsafe secret_service_decode_dbus_secret(service.pointer(), encoded.pointer)
    else { throw .malformed }
    defer { unsafe secret_value_unref(UnsafeMutableRawPointer(plain)) }
    var count: gsize = 0
    let start = unsafe secret_value_get(plain, &count)
    return unsafe UnsafeRawBufferPointer(start: start, count: Int(count))
      .withMemoryRebound(to: UInt8.self) { unsafe Secret(copying: $0) }
  }
}
