internal import KistCore
internal import KistServer
internal import KistSystem
internal import Logging
internal import Synchronization

struct UnitCredentials: Sendable {
  var load: @Sendable (LoadRequest, Peer) async throws(StorageError) -> Credential
  /// Called for each client that is refused before a credential is loaded.
  var whenRefused: @Sendable (Peer) -> Void = { _ in }
  var logger: Logger
  let gates = LogGates()

  /// Returns the secret of the credential with the unit's name as service and the ID as account.
  ///
  /// For a manager, the end of the stream means that the credential is complete, so an empty stream
  /// is an empty credential. Only an answer above the manager's size limit makes the unit fail. So
  /// kistd refuses every client that may be a manager with such an answer. A client at any other
  /// address is not a manager, and its connection is closed at once.
  func answer(_ peer: Peer) -> ByteServer.Answer? {
    guard let request = CredentialRequest(address: peer.abstractName) else {
      refuse(peer, "the address is not one that systemd connects from for a unit")
      return nil
    }
    guard Peer.isOwnUser(peer) else { return refuse(peer, "another user asked") }
    let unit = ProcessUnit(name: request.unit, userManager: "user@\(peer.uid).service")
    guard ProcessUnit(cgroup: peer.process.cgroup) == unit else {
      return refuse(peer, "the client is not in the unit that it asked for")
    }
    return ByteServer.Answer(group: request.unit) { await secret(for: request, of: peer) }
  }

  private func secret(for request: CredentialRequest, of peer: Peer) async -> Secret {
    let key = CredentialKey(service: request.unit, account: request.id)
    do throws(StorageError) { return try await load(LoadRequest(key: key), peer).secret } catch {
      warn(
        "refused a credential to a unit", of: request.unit,
        ["unit": "\(request.unit)", "credential": "\(request.id)", "reason": "\(error)"])
      return .moreThanACredential
    }
  }

  /// Reports a refusal; returns the answer to a client that is not proven to be in the unit.
  @discardableResult
  private func refuse(_ peer: Peer, _ reason: String) -> ByteServer.Answer {
    whenRefused(peer)
    warn("refused a credential", of: nil, ["pid": "\(peer.pid)", "reason": "\(reason)"])
    return ByteServer.Answer(group: nil) { .moreThanACredential }
  }

  private func warn(_ message: Logger.Message, of unit: String?, _ metadata: Logger.Metadata) {
    logger.warning(message, through: gates.gate(of: unit), metadata)
  }
}

/// One log gate for each unit, so that a unit with many requests does not hide other units' lines.
final class LogGates: Sendable {
  private static let most = 64

  private let gates = Mutex<[String?: LogGate]>([:])

  /// Returns the gate of a unit; clients without a unit share one.
  func gate(of unit: String?) -> LogGate {
    gates.withLock { gates in
      let unit = gates.count < Self.most || gates[unit] != nil ? unit : nil
      let gate = gates[unit] ?? LogGate()
      gates[unit] = gate
      return gate
    }
  }
}

extension Secret {
  /// More zeros than systemd accepts for all credentials of a unit, 1 MiB (systemd.exec(5)).
  static let moreThanACredential: Secret = {
    let size = (1 << 20) + 4096
    var bytes = WipedBytes(capacity: size)
    bytes.append(upTo: size) { output in
      while !output.isFull { output.append(0) }
    }
    return Secret(bytes)
  }()
}

/// A credential that the service manager requests for a unit (systemd.exec(5), `LoadCredential=`).
struct CredentialRequest: Equatable {
  var unit: String
  var id: String
}

extension CredentialRequest {
  /// Parses the address that the manager connects from, `RANDOM/unit/UNIT/ID`, or returns `nil`.
  init?(address: [UInt8]) {
    let parts = address.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard
      parts.count == 4, parts[1].elementsEqual("unit".utf8),
      let unit = String(validating: parts[2], as: UTF8.self), isUnit(unit),
      let id = String(validating: parts[3], as: UTF8.self), !id.isEmpty
    else { return nil }
    self.init(unit: unit, id: id)
  }
}
