internal import KistBus
internal import KistSecretService

extension Interface {
  static let introspectable = Interface(
    name: "org.freedesktop.DBus.Introspectable",
    methods: [
      Method("Introspect", returns: [Argument("data", "s")]) { service, call in
        let text = introspection(
          of: call.object, children: try await service.children(of: call.object))
        return call.reply { $0.write(text) }
      }
    ])

  static let peer = Interface(
    name: "org.freedesktop.DBus.Peer",
    methods: [
      // sd-bus answers them.
      Method("Ping") { _, call in call.reply() },
      Method("GetMachineId", returns: [Argument("machine_uuid", "s")]) { _, call in call.reply() },
    ])

  fileprivate var xml: String {
    var text = " <interface name=\"\(name)\">\n"
    for method in methods {
      text += "  <method name=\"\(method.name)\">\n"
      for argument in method.input { text += argument.xml("direction=\"in\"") }
      for argument in method.output { text += argument.xml("direction=\"out\"") }
      text += "  </method>\n"
    }
    for property in properties {
      let access = property.isWritable ? "readwrite" : "read"
      text +=
        "  <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"\(access)\"/>\n"
    }
    for signal in signals {
      text += "  <signal name=\"\(signal.name)\">\n"
      for argument in signal.arguments { text += argument.xml("") }
      text += "  </signal>\n"
    }
    return text + " </interface>\n"
  }
}

extension Argument {
  fileprivate func xml(_ attributes: String) -> String {
    "   <arg type=\"\(type)\" name=\"\(name)\" \(attributes)/>\n"
  }
}

/// Returns the description of an object in XML.
private func introspection(of object: ObjectPath, children: [String]) -> String {
  var text = """
    <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
     "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
    <node>

    """
  let common: [Interface] = [.peer, .introspectable]
  for interface in common + (object.interface.map { [.properties, $0] } ?? []) {
    text += interface.xml
  }
  for child in children { text += " <node name=\"\(child)\"/>\n" }
  return text + "</node>\n"
}
