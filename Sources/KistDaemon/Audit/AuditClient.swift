internal import KistServer
internal import KistWire

/// A client, as the audit log names it in each line.
final class AuditClient: Sendable {
  let lines: AuditLines.Client

  init(_ peer: Peer) {
    lines = AuditLines.Client(
      AuditedPeer(
        pid: Int(peer.pid), uid: Int(peer.uid), unit: unit(ofCgroup: peer.process.cgroup),
        claims: peer.process.name.isEmpty ? nil : peer.process.name,
        evidence: peer.process.evidence))
  }
}
