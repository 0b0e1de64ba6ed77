package import KistCore
internal import KistJSON

/// Answers with credentials for kubectl, by name.
///
/// See Kubernetes, "client-go credential plugins", versions v1 and v1beta1.
///
/// The credentials of `kubectl:NAME` have the account `token`, or `client-certificate` and
/// `client-key` in PEM. Both may exist.
package func answerKubectl(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  do throws(StorageError) {
    let service = "kubectl:" + (try call.words("NAME")[0])
    let version = try apiVersion(in: call.variable("KUBERNETES_EXEC_INFO"))
    func credential(_ account: String) async throws(StorageError) -> Credential? {
      try await storage.usable(CredentialKey(service: service, account: account), for: .kubectl)
    }
    let token = try await credential("token")
    let certificate = try await credential("client-certificate")
    let key = try await credential("client-key")
    let found = [token, certificate, key].compactMap(\.self)
    guard !found.isEmpty else { throw .notFound(keptAs: "kubectl:NAME", with: "token") }
    guard (certificate == nil) == (key == nil) else {
      throw StorageError(
        .notFound, "only one of the client certificate and the client key is stored",
        hint: "save the other one, too: `kist list` shows which one is stored")
    }
    return try .json { writer throws(StorageError) in
      writer.member("apiVersion", version)
      writer.member("kind", "ExecCredential")
      try writer.member("status") { status throws(StorageError) in
        status.member("expirationTimestamp", found.compactMap(\.summary.expiresAt).min())
        try status.member("token", text: token)
        try status.member("clientCertificateData", text: certificate)
        try status.member("clientKeyData", text: key)
      }
    }
  } catch {
    return .failed(error)
  }
}

/// Returns the protocol version that kubectl requests; v1 if it requests none.
private func apiVersion(in information: String?) throws(StorageError) -> String {
  let versions = ["v1", "v1beta1"].map { "client.authentication.k8s.io/" + $0 }
  guard let information else { return versions[0] }
  let version = try parsed { () throws(JSONError) in
    try JSONObject(Secret(utf8: information)).required("apiVersion").string()
  }
  guard versions.contains(version) else {
    throw .badRequest(
      "kubectl uses a version of its protocol that kist does not know",
      hint: "set apiVersion in the kubeconfig to \(versions[0])")
  }
  return version
}
