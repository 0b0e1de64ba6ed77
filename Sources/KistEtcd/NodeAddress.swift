#if Etcd
  internal import GRPCNIOTransportHTTP2Posix
  internal import Glibc
  internal import KistCore

  /// The address of a node of etcd, such as `https://10.0.0.1:2379`.
  struct NodeAddress: Hashable, Sendable {
    /// A host name, or an IP address without brackets.
    let host: String
    let port: Int

    /// Reads `https://HOST:PORT`; throws `badRequest` for any other text.
    init(_ text: String) throws(StorageError) {
      let scheme = "https://"
      guard text.hasPrefix(scheme), let colon = text.lastIndex(of: ":"),
        let port = UInt16(text[text.index(after: colon)...]), port > 0
      else { throw Self.malformed }
      var host = text[text.index(text.startIndex, offsetBy: scheme.count)...]
      guard let end = host.lastIndex(of: ":") else { throw Self.malformed }
      host = host[..<end]
      if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
      guard !host.isEmpty, !host.contains("/"), !host.contains("[") else { throw Self.malformed }
      (self.host, self.port) = (String(host), Int(port))
    }

    private static var malformed: StorageError {
      .badRequest(
        "a value of --endpoint is not an address of a node of etcd",
        hint: "give https://HOST:PORT; kist-etcd connects only with TLS")
    }

    /// The address for gRPC.
    ///
    /// The certificate of the node must contain this name or IP address.
    var target: any ResolvableTarget {
      if isAddress(AF_INET) { return .ipv4(address: host, port: port) }
      if isAddress(AF_INET6) { return .ipv6(address: host, port: port) }
      return .dns(host: host, port: port)
    }

    private func isAddress(_ family: CInt) -> Bool {
      var bytes = in6_addr()
      return unsafe inet_pton(family, host, &bytes) == 1
    }
  }

  extension NodeAddress: CustomStringConvertible {
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }
#endif
