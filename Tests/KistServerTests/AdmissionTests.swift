import Foundation
import KistTesting
import Logging
import NIOCore
import NIOPosix
import Subprocess
import Synchronization
import Testing

@testable import KistServer

@Suite(.timeLimit(.minutes(2))) struct `Admission of a connection` {
  @Test func `the peer is the process that connected`() async throws {
    let peers = Mutex<[Peer]>([])
    let recording: Serve = { peer, _ in
      peers.withLock { $0.append(peer) }
      return { $0 }
    }
    try await withServer(serve: recording) { server in
      let client = try server.connect()
      await client.send("a\n")
      #expect(await client.line() == "a\n")
    }
    let peer = try #require(peers.withLock { $0.first })
    #expect(peer.pid == getpid())
    #expect(peer.uid == getuid())
    #expect(
      peer.process.cgroup == (try String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)))
  }

  @Test func `another user is refused before a line is read, and logged by pid and uid`()
    async throws
  {
    try await withServer(
      serve: { _, _ in
        Issue.record("a stranger was served")
        return { $0 }
      },
      configured: { $0.admits = { _ in false } }
    ) { server in
      let client = try server.connect()
      let refusal = await client.rest()
      #expect(refusal.contains("\"denied\""))
      let entry = try #require(server.logged.first)
      #expect(entry["uid"] == "\(getuid())")
      #expect(entry["pid"] == "\(getpid())")
    }
  }

  @Test(.needsRoot("to become another user"))
  func `a process of another uid is refused`() async throws {
    try await withServer { server in
      // Nobody must be able to come as far as the socket, so that the server has to decide.
      let directory = URL(fileURLWithPath: server.path).deletingLastPathComponent().path
      unsafe chmod(directory, 0o711)
      unsafe chmod(server.path, 0o666)
      let script = """
        import socket, sys
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
        try: s.sendall(b"secret line\\n")
        except OSError: pass
        out = b""
        try:
          while (part := s.recv(4096)): out += part
        except OSError: pass
        sys.stdout.buffer.write(out)
        """
      let output = try await run(
        .name("setpriv"),
        arguments: [
          "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", script,
          server.path,
        ], output: .string(limit: 4096)
      ).standardOutput
      #expect(output.contains("\"denied\""))
      #expect(!output.contains("secret line"))
      let entry = try #require(server.logged.first)
      #expect(entry["uid"] == "65534")
    }
  }

  @Test func `a client that disconnects while it is admitted does not count`() async throws {
    var ends: [CInt] = [0, 0]
    try #require(unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { close(ends[1]) }
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .withConnectedSocket(ends[0]).get()
    var server = Server(logger: Logger(label: "test"), serve: echo)
    server.admits = { _ in
      channel.close(promise: nil)
      return true
    }
    let admission = Admission(of: server)
    try await channel.eventLoop.submit {
      _ = #expect(throws: (any Error).self) { try admission.admit(channel) }
    }.get()
    #expect(admission.count == 0)
  }

  #if os(Linux)
    @Test func `running out of descriptors ends nothing`() async throws {
      await #expect(processExitsWith: .success) {
        try await withServer { server in
          let first = try server.connect()
          await first.send("a\n")
          guard await first.line() == "a\n" else { exit(2) }

          let next = dup(0)
          close(next)
          var limit = rlimit(rlim_cur: rlim_t(next + 20), rlim_max: rlim_t(next + 20))
          _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
          // The descriptors of both ends are this process's own, so that soon nothing is left to
          // accept with.
          var clients: [RawClient] = []
          while let client = try? server.connect() { clients.append(client) }
          #expect(clients.count > 5)
          clients.removeAll()
          // The server lets go of its ends a little later.
          var client: RawClient?
          while client == nil {
            client = try? server.connect()
            await Task.yield()
          }
          await client?.send("a\n")
          let answer = await client?.line()
          guard answer == "a\n" else { exit(3) }
        }
      }
    }

    @Test func `without descriptors, waits before it accepts again`() async throws {
      await #expect(processExitsWith: .success) {
        try await withDirectory { directory in
          let errors = ErrorCounter()
          let loop = MultiThreadedEventLoopGroup.singleton.next()
          _ = try await ServerBootstrap(group: loop)
            .serverChannelInitializer { channel in
              channel.addAcceptPause().flatMapThrowing {
                try channel.pipeline.syncOperations.addHandler(errors)
              }
            }
            .withBoundSocket(listen(at: directory + "/s")).get()
          // The client takes the last descriptor.
          let last = dup(0)
          close(last)
          var limit = rlimit(rlim_cur: rlim_t(last + 1), rlim_max: rlim_t(last + 1))
          _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
          let client = try RawClient(connectingTo: directory + "/s")
          while errors.count == 0 { try await loop.submit {}.get() }
          // Each of these turns of the loop would accept again.
          for _ in 0..<1000 { try await loop.submit {}.get() }
          #expect(errors.count < 100)
          extendLifetime(client)
        }
      }
    }
  #endif
}

private final class ErrorCounter: ChannelInboundHandler, Sendable {
  typealias InboundIn = Channel

  private let counter = Atomic(0)

  var count: Int { counter.load(ordering: .relaxed) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    counter.wrappingAdd(1, ordering: .relaxed)
  }
}
