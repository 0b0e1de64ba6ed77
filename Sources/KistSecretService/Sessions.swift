internal import KistCore
internal import KistGcrypt

/// The sessions of programs, each with its cipher.
struct Sessions {
  private struct Session {
    let client: String
    /// `nil` for a session whose secrets are not encrypted.
    let cipher: SessionCipher?
  }

  /// The sessions by their paths.
  private var sessions: [String: Session] = [:]
  private var opened = 0

  var isEmpty: Bool { sessions.isEmpty }

  /// Opens a session and returns the output of the algorithm, and its path.
  mutating func open(
    _ algorithm: Algorithm, for client: String
  ) throws(ServiceError) -> (output: [UInt8]?, path: String) {
    guard sessions.values.count(where: { $0.client == client }) < ServiceLimits.sessions else {
      throw .overLimit("a program may have \(ServiceLimits.sessions) sessions; close one")
    }
    var output: [UInt8]?
    var cipher: SessionCipher?
    if case .dh(let key) = algorithm {
      let exchange = KeyExchange()
      cipher = exchange.cipher(sharedWith: key)
      guard cipher != nil else {
        throw .invalid("the public key is too long, at most 1, or at least the prime minus 1")
      }
      output = exchange.publicKey
    }
    opened += 1
    let path = ObjectPath.session("s\(opened)").path
    sessions[path] = Session(client: client, cipher: cipher)
    return (output, path)
  }

  func has(_ identifier: String, of client: String) -> Bool {
    sessions[ObjectPath.session(identifier).path]?.client == client
  }

  mutating func close(_ identifier: String, of client: String) throws(ServiceError) {
    guard has(identifier, of: client) else { throw .noSession }
    sessions[ObjectPath.session(identifier).path] = nil
  }

  mutating func closeAll(of client: String) {
    for (path, session) in sessions where session.client == client {
      sessions[path] = nil
    }
  }

  /// Returns the secret that a program sent.
  func decoded(_ sent: SentSecret, for client: String) throws(ServiceError) -> Secret {
    guard let cipher = try session(sent.session, of: client).cipher else { return sent.value }
    guard let secret = cipher.decrypt(sent.value, vector: sent.parameters) else {
      throw .invalid("the secret cannot be decrypted with the key of this session")
    }
    return secret
  }

  /// Returns a secret as the session sends it.
  func encoded(
    _ secret: Secret, contentType: String, in path: String, for client: String
  ) throws(ServiceError) -> SentSecret {
    guard let cipher = try session(path, of: client).cipher else {
      return SentSecret(session: path, parameters: [], value: secret, contentType: contentType)
    }
    let (vector, sealed) = cipher.encrypt(secret)
    return SentSecret(
      session: path, parameters: vector, value: Secret(copying: sealed.span),
      contentType: contentType)
  }

  /// Checks that a program has the session.
  func require(_ path: String, of client: String) throws(ServiceError) {
    _ = try session(path, of: client)
  }

  private func session(_ path: String, of client: String) throws(ServiceError) -> Session {
    guard let session = sessions[path], session.client == client else { throw .noSession }
    return session
  }
}

/// The algorithm of a session, with its input.
package enum Algorithm: Sendable {
  case plain
  /// `dh-ietf1024-sha256-aes128-cbc-pkcs7`, with the public key of the program.
  case dh([UInt8])

  package static let dhName = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
}
