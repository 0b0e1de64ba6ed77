import Foundation
import KistCluster
import KistClusterSocket
import Testing

@Suite(.timeLimit(.minutes(5))) struct `The document of the cluster protocol` {
  @Test func `has examples that an adapter answers as the document says`() async throws {
    let document = try String(
      contentsOf: URL(filePath: #filePath).appending(path: "../../../docs/cluster-protocol.md")
        .standardized, encoding: .utf8)
    let adapter = try RunningAdapter(serving: .inMemory())
    let sessions = document.matches(of: /```session\n((?s).*?)```/)
    #expect(sessions.count == 5)
    for session in sessions {
      let client = try RawSocket(connectingTo: adapter.path)
      var next: String?
      for line in session.1.split(separator: "\n") {
        if line.hasPrefix("> ") {
          next = await client.reply(to: String(line.dropFirst(2)))
        } else {
          // An event has no request.
          let reply = if let next { next } else { await client.nextLine() }
          #expect(reply == line.dropFirst(2))
          next = nil
        }
      }
    }
    withExtendedLifetime(adapter) {}
  }
}
