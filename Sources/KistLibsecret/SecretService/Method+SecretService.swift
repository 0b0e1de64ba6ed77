extension Method {
  static let promptInterface = "org.freedesktop.Secret.Prompt"

  static let readAlias = service("ReadAlias", "(o)")
  static let searchItems = service("SearchItems", "(aoao)")
  static let getSecrets = service("GetSecrets", "(a{o(oayays)})")
  static let lock = service("Lock", "(aoo)")
  static let unlock = service("Unlock", "(aoo)")
  static let createItem = Method(
    interface: "org.freedesktop.Secret.Collection", name: "CreateItem", replyType: "(oo)")
  static let deleteItem = Method(
    interface: "org.freedesktop.Secret.Item", name: "Delete", replyType: "(o)")
  static let prompt = Method(interface: promptInterface, name: "Prompt", replyType: "()")
  static let dismiss = Method(interface: promptInterface, name: "Dismiss", replyType: "()")
  static let getProperty = Method(
    interface: "org.freedesktop.DBus.Properties", name: "Get", replyType: "(v)")
  static let getAllProperties = Method(
    interface: "org.freedesktop.DBus.Properties", name: "GetAll", replyType: "(a{sv})")

  private static func service(_ name: String, _ replyType: String) -> Method {
    Method(interface: "org.freedesktop.Secret.Service", name: name, replyType: replyType)
  }
}
