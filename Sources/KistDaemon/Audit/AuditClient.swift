internal import KistServer
internal import KistWire

/// A client, as the audit log names it in each line.
final class AuditClient: Sendable {
  let peer: AuditedPeer

  init(_ peer: Peer) {
    self.peer = AuditedPeer(
      pid: Int(peer.pid), uid: Int(peer.uid), unit: unit(ofCgroup: peer.process.cgroup),
      claims: peer.process.name.isEmpty ? nil : peer.process.name, evidence: peer.process.evidence)
  }
}
