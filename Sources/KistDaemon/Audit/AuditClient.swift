internal import KistServer
internal import KistWire

/// The description of a client in each of its audit log lines.
final class AuditClient: Sendable {
  let lines: AuditLines.Client

  init(_ peer: Peer) {
    lines = AuditLines.Client(
      AuditedPeer(
        pid: Int(peer.pid), uid: Int(peer.uid),
        unit: ProcessUnit(cgroup: peer.process.cgroup)?.name,
        claims: peer.process.name.isEmpty ? nil : peer.process.name,
        evidence: peer.process.evidence))
  }
}
