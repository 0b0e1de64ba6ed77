internal import KistBus
internal import KistSecretService

extension Bus {
  /// Sends a signal.
  ///
  /// If too many messages wait for the bus, only the end of a prompt is sent. The whole lists of
  /// items follow later.
  func send(_ signal: ServiceSignal) {
    switch signal {
    case .item(let change, let collection, let path):
      let message = makeSignal(collection, InterfaceName.collection, "Item" + change.rawValue)
      message.write(path: path)
      sendUnlessCongested(message)
    case .collection(let change, let path):
      let message = makeSignal(
        ObjectPath.root, InterfaceName.service, "Collection" + change.rawValue)
      message.write(path: path)
      sendUnlessCongested(message)
    case .properties(let path, let interface, let values):
      let message = makeSignal(path, Interface.properties.name, "PropertiesChanged")
      message.write(interface)
      message.write(values)
      message.write([String]())
      sendUnlessCongested(message)
    case .completed(let prompt, let client, let isDismissed, let value):
      let message = makeSignal(prompt, InterfaceName.prompt, "Completed", to: client)
      message.write(isDismissed)
      message.write(value)
      send(message)
    }
  }
}
