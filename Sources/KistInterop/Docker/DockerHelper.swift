package import KistCore

/// Answers as docker's credential helper, which podman, skopeo, buildah and others also use.
///
/// See docker-credential-helpers, credentials/credentials.go.
///
/// Errors go to standard output, with status 1. Clients compare some of the messages.
package func answerDocker(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  guard let action = call.arguments.first, call.arguments.count == 1 else {
    return .told(dockerUsage)
  }
  do throws(StorageError) {
    switch action {
    case "store":
      let credential = try DockerCredential(reading: call.readInput())
      try await credential.store(now: call.now(), load: storage.load, save: storage.save)
      return .done()
    case "get":
      let registry = try DockerRegistry(reading: call.readInput())
      let found = try await registry.get(now: call.now(), find: storage.find, load: storage.load)
      return found.map { .done($0) } ?? .told("credentials not found in native keychain")
    case "erase":
      let registry = try DockerRegistry(reading: call.readInput())
      try await registry.erase(find: storage.find, delete: storage.delete)
      return .done()
    case "list": return .done(try await dockerList(now: call.now(), find: storage.find))
    case "version", "--version", "-v":
      return .done(Secret(utf8: "docker-credential-kist (kist) \(KistVersion.current)\n"))
    case "help", "--help", "-h": return .done(Secret(utf8: dockerUsage + "\n"))
    default: return .told("docker-credential-kist: there is no such action")
    }
  } catch {
    return .told(error.line)
  }
}

private let dockerUsage = "Usage: docker-credential-kist <store|get|erase|list|version>"

extension HelperAnswer {
  fileprivate static func told(_ message: String) -> HelperAnswer {
    HelperAnswer(output: Secret(utf8: message + "\n"), status: 1)
  }
}
