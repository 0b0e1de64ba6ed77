import CLibsecret

/// The answers of a provider, one choice after the other.
///
/// Only GLib's thread reads it.
final class Script: @unchecked Sendable {
  private var input: Input
  private var isOwnerNamed = false

  init(_ input: Input) { self.input = input }

  /// Answers a call.
  func answer(_ call: OpaquePointer, on connection: OpaquePointer) {
    guard g_dbus_message_get_message_type(call) == G_DBUS_MESSAGE_TYPE_METHOD_CALL else { return }
    let method = String(cString: g_dbus_message_get_member(call))
    // A client that the bus does not admit makes no calls.
    switch method == "Hello" ? 0 : input.choice(of: 16) {
    // libsecret repeats this call and would accept anything.
    case 12 where method == "GetNameOwner" && !isOwnerNamed:
      connection.send(call.reply(tuple([text("no name")])))
    case 12 where method != "GetNameOwner":
      connection.send(call.reply(value(of: types[input.choice(of: types.count)], &input)))
    case 13: connection.send(call.error(errors[input.choice(of: errors.count)]))
    // No answer. This is rare, as it takes time.
    case 14 where input.choice(of: 256) == 0xAA: break
    case 15 where input.choice(of: 2) == 1: g_dbus_connection_close(connection, nil, nil, nil)
    case let choice:
      // Another program calls and gets no answer.
      if choice == 11 { connection.send(.ping) }
      isOwnerNamed = isOwnerNamed || method == "GetNameOwner"
      connection.send(rightReply(to: call, method, &input))
    }
    guard method == "Prompt" else { return }
    let type = input.choice(of: 8) == 7 ? types[input.choice(of: types.count)] : "(bv)"
    connection.send(call.completed(value(of: type, &input)))
  }

  private let errors = [
    "org.freedesktop.Secret.Error.IsLocked", "org.freedesktop.Secret.Error.NoSession",
    "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.NoReply",
    "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
    "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.Spawn.Failed",
    "org.freedesktop.DBus.Error.TimedOut", "org.example.Error",
  ]

  private let types = [
    "()", "(s)", "(o)", "(v)", "(as)", "(ao)", "(u)", "(oo)", "(vo)", "(aoao)", "(aoo)", "(a{sv})",
    "(a{o(oayays)})", "(a{ss})", "(ay)", "(bv)", "(y(yy)d)", "(os)", "(a{s(ss)})",
  ]
}

/// An answer whose types follow the specification.
private func rightReply(
  to call: OpaquePointer, _ method: String, _ input: inout Input
) -> OpaquePointer {
  switch method {
  case "OpenSession":
    let isPlain = call.arguments?.hasPrefix("('plain'") ?? true
    let choice = input.choice(of: 3)
    if choice == 0, !isPlain { return call.error("org.freedesktop.DBus.Error.NotSupported") }
    if choice == 2 { return call.reply(value(of: "(vo)", &input)) }
    let key =
      isPlain
      ? text("") : bytes(choice == 0 ? [UInt8](repeating: 3, count: 128) : input.bytes(8))
    return call.reply(tuple([boxed(key), path("/s")]))
  case _ where honestReplies[method] != nil:
    switch input.choice(of: 4) {
    case 0, 1: return call.reply(honestReplies[method]!())
    case 2 where promptingReplies[method] != nil: return call.reply(promptingReplies[method]!())
    default: return call.reply(value(of: replyType(of: method), &input))
    }
  case "Hello", "GetNameOwner": return call.reply(tuple([text(":1.2")]))
  case "Get":
    let isAttributes = call.arguments?.contains("'Attributes'") ?? false
    if input.choice(of: 8) == 7 { return call.reply(value(of: "(v)", &input)) }
    return call.reply(tuple([boxed(value(of: isAttributes ? "a{ss}" : "b", &input))]))
  default: return call.reply(value(of: replyType(of: method), &input))
  }
}

private func replyType(of method: String) -> String {
  switch method {
  case "ListActivatableNames": "(as)"
  case "StartServiceByName": "(u)"
  case "SearchItems": "(aoao)"
  case "GetSecrets": "(a{o(oayays)})"
  case "GetAll": "(a{sv})"
  case "ReadAlias", "Delete": "(o)"
  case "Lock", "Unlock": "(aoo)"
  case "CreateItem": "(oo)"
  default: "()"
  }
}

/// An answer about an existing item in an unlocked collection.
private let honestReplies: [String: @Sendable () -> OpaquePointer] = [
  "SearchItems": { tuple([array(of: "o", [path("/i/1")]), array(of: "o", [])]) },
  "GetSecrets": {
    let value = tuple([path("/s"), bytes([]), bytes(Array("secret".utf8)), text("text/plain")])
    let entry = g_variant_new_dict_entry(path("/i/1"), value)!
    return tuple([array(of: "{o(oayays)}", [entry])])
  },
  "CreateItem": { tuple([path("/i/2"), path("/")]) },
  "Delete": { tuple([path("/")]) },
  "Lock": { tuple([array(of: "o", [path("/c")]), path("/")]) },
  "Unlock": { tuple([array(of: "o", [path("/c")]), path("/")]) },
]

/// An answer of a provider that prompts its user first.
private let promptingReplies: [String: @Sendable () -> OpaquePointer] = [
  "CreateItem": { tuple([path("/"), path("/p")]) },
  "Delete": { tuple([path("/p")]) },
  "Lock": { tuple([array(of: "o", []), path("/p")]) },
  "Unlock": { tuple([array(of: "o", []), path("/p")]) },
]

extension OpaquePointer {
  /// The arguments of a call as text.
  fileprivate var arguments: String? {
    guard let body = g_dbus_message_get_body(self), let text = g_variant_print(body, 0) else {
      return nil
    }
    defer { g_free(text) }
    return String(cString: text)
  }

  fileprivate static var ping: OpaquePointer {
    g_dbus_message_new_method_call(nil, "/", "org.freedesktop.DBus.Peer", "Ping")!
  }

  fileprivate func reply(_ body: OpaquePointer) -> OpaquePointer {
    let reply = g_dbus_message_new_method_reply(self)!
    g_dbus_message_set_body(reply, body)
    return reply
  }

  fileprivate func error(_ name: String) -> OpaquePointer {
    g_dbus_message_new_method_error_literal(self, name, "no")!
  }

  /// Emits the signal of the called prompt.
  fileprivate func completed(_ body: OpaquePointer) -> OpaquePointer {
    let signal = g_dbus_message_new_signal(
      g_dbus_message_get_path(self), "org.freedesktop.Secret.Prompt", "Completed")!
    g_dbus_message_set_body(signal, body)
    return signal
  }

  fileprivate func send(_ message: OpaquePointer) {
    g_dbus_message_set_sender(message, ":1.2")
    g_dbus_connection_send_message(self, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, nil, nil)
    g_object_unref(UnsafeMutableRawPointer(message))
  }
}
