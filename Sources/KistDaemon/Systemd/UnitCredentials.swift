internal import KistCore
internal import KistServer
internal import Logging

/// What a service manager is answered that asks for the credentials of units.
struct UnitCredentials: Sendable {
  /// Loads a credential.
  var load: @Sendable (LoadRequest) async throws(StorageError) -> Credential
  /// Told of each request: what it named, as far as that was read, and why it was refused.
  var whenAnswered: @Sendable (Peer, RequestedNames?, StorageError.Code?) -> Void = { _, _, _ in }
  var logger: Logger

  /// The secret of the service that is named as the unit, and of the account that is named as the
  /// credential.
  ///
  /// A manager takes every end for the end of a credential, an empty one where nothing came. What
  /// makes the unit fail is more than it accepts, and so that is the answer to everything else.
  func answer(_ peer: Peer) async -> Secret {
    guard Peer.isOwner(peer) else { return refuse(peer, "another user asked") }
    guard let request = CredentialRequest(address: peer.abstractName) else {
      return refuse(peer, "the address is not one that systemd connects from for a unit")
    }
    guard unit(ofCgroup: peer.process.cgroup) == request.unit else {
      return refuse(peer, "who asked is not in the unit that it asked for")
    }
    let key = CredentialKey(service: request.unit, account: request.id)
    do throws(StorageError) {
      let secret = try await load(LoadRequest(key: key)).secret
      whenAnswered(peer, RequestedNames(key), nil)
      return secret
    } catch {
      whenAnswered(peer, RequestedNames(key), error.code)
      logger.warning(
        "refused a credential to a unit",
        metadata: [
          "unit": "\(request.unit)", "credential": "\(request.id)", "reason": "\(error)",
        ])
      return .moreThanACredential
    }
  }

  private func refuse(_ peer: Peer, _ reason: String) -> Secret {
    whenAnswered(peer, nil, .denied)
    logger.warning(
      "refused a credential", metadata: ["pid": "\(peer.pid)", "reason": "\(reason)"])
    return .moreThanACredential
  }
}

extension Secret {
  /// Zeros, more of them than systemd accepts for all credentials of a unit, 1 MiB (systemd.exec(5)).
  static let moreThanACredential: Secret = {
    let size = (1 << 20) + 4096
    var bytes = WipedBytes(capacity: size)
    bytes.append(upTo: size) { output in
      while !output.isFull { output.append(0) }
    }
    return Secret(bytes)
  }()
}
