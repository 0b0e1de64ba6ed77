#if Etcd
  internal import GRPCCore
  internal import GRPCNIOTransportHTTP2Posix
  internal import GRPCProtobuf
  internal import KistServer
  internal import SwiftProtobuf
  private import Synchronization

  /// The client of one node of etcd, which can be abandoned.
  ///
  /// gRPC has no time limit for a connection attempt. With a node that is stopped, a TLS handshake
  /// and a graceful shutdown wait until the node continues. So each node has its own client, which is
  /// dropped without a wait when it fails.
  final class NodeClient: Sendable {
    typealias Client = GRPCClient<HTTP2ClientTransport.Posix>

    /// The maximum size of a reply in bytes; gRPC's own default.
    static let mostReplyBytes = 4 << 20

    private let client: Client
    private let connections: Task<Void, any Error>

    init(
      _ address: NodeAddress, _ certificates: CertificateTexts, _ executor: EventLoopExecutor
    ) throws {
      let transport = try HTTP2ClientTransport.Posix(
        target: address.target,
        transportSecurity: .mTLS(
          certificateChain: [.bytes(certificates.certificate, format: .pem)],
          privateKey: .bytes(certificates.key, format: .pem)
        ) {
          $0.trustRoots = .certificates([.bytes(certificates.authority, format: .pem)])
        },
        config: .defaults {
          // etcd closes connections that send pings without a call.
          $0.connection.keepalive = .init(
            time: .seconds(10), timeout: .seconds(3), allowWithoutCalls: false)
          // Coalescing would delay each single request by 0.1 ms.
          $0.connection.flushCoalescing = nil
          // The bytes that a node may send before they are read, for each stream: a page of rows.
          $0.http2.targetWindowSize = 1 << 20
        }, eventLoopGroup: executor.loop)
      let client = Client(transport: transport)
      self.client = client
      connections = Task(executorPreference: executor) { try await client.runConnections() }
    }

    deinit { connections.cancel() }

    /// Closes the connections without a wait; calls in progress fail.
    func abandon() { connections.cancel() }

    /// Sends one request and returns its reply.
    ///
    /// - Parameter wasSent: is set before the request is sent. While it is not set, the node cannot
    ///   have received the request.
    func call<Request: SwiftProtobuf.Message, Reply: SwiftProtobuf.Message>(
      _ method: MethodDescriptor, _ request: Request, wasSent: Flag
    ) async throws -> Reply {
      try await client.unary(
        request: ClientRequest(message: request, metadata: metadata), descriptor: method,
        serializer: MarkingSerializer<Request>(wasSent: wasSent),
        deserializer: ProtobufDeserializer<Reply>(),
        options: Self.options
      ) { try $0.message }
    }

    /// Sends one request, and gives each of its replies to a function until the task is cancelled.
    func stream<Request: SwiftProtobuf.Message, Reply: SwiftProtobuf.Message>(
      _ method: MethodDescriptor, _ request: Request,
      receive: @escaping @Sendable (Reply) async throws -> Void
    ) async throws {
      try await client.bidirectionalStreaming(
        request: StreamingClientRequest(metadata: metadata) { writer in
          try await writer.write(request)
          // The end of the requests would end the watch.
          try await Task.sleep(for: .seconds(Int32.max))
        },
        descriptor: method, serializer: ProtobufSerializer<Request>(),
        deserializer: ProtobufDeserializer<Reply>(), options: Self.options
      ) { response in
        for try await reply in response.messages { try await receive(reply) }
      }
    }

    private static var options: CallOptions {
      var options = CallOptions.defaults
      // The transport takes the limit of requests for replies, and ignores that of replies.
      options.maxRequestMessageBytes = mostReplyBytes
      // A node that refuses connections fails at once, and the next one is tried.
      options.waitForReady = false
      return options
    }

    /// A node without a leader refuses calls with this metadata, and ends watches.
    ///
    /// Otherwise a watch at a node that is cut off stays open and silent.
    private var metadata: Metadata { ["hasleader": "true"] }
  }

  /// Whether something has happened.
  final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }

    func set() { value.store(true, ordering: .sequentiallyConsistent) }
  }

  /// Serialises a request, and marks it as sent.
  ///
  /// gRPC serialises a request when it has a connection, immediately before it writes the request.
  private struct MarkingSerializer<Message: SwiftProtobuf.Message>: MessageSerializer {
    let wasSent: Flag

    func serialize<Bytes: GRPCContiguousBytes>(_ message: Message) throws -> Bytes {
      wasSent.set()
      return try ProtobufSerializer<Message>().serialize(message)
    }
  }
#endif
