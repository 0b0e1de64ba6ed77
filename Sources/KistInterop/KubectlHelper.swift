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
    var found: [Credential?] = []
    for account in ["token", "client-certificate", "client-key"] {
      let key = CredentialKey(service: service, account: account)
      found.append(try await usable(key, for: .kubectl, storage.load))
    }
    let (token, certificate, key) = (found[0], found[1], found[2])
    guard token != nil || certificate != nil || key != nil else {
      throw .notFound(keptAs: "kubectl:NAME", with: "token")
    }
    guard (certificate == nil) == (key == nil) else {
      throw StorageError(
        .notFound, "of a client certificate and its key, one is missing",
        hint: "save the other, too: `kist list` shows which one is there")
    }
    for credential in found { try credential?.secret.requireText() }
    let expiry = found.compactMap { $0?.summary.expiresAt }.min()
    return .done(
      JSONWriter.object { writer in
        writer.member("apiVersion", version)
        writer.member("kind", "ExecCredential")
        writer.member("status") { status in
          status.member("expirationTimestamp", expiry)
          if let token { status.member("token", text: token.secret) }
          if let certificate { status.member("clientCertificateData", text: certificate.secret) }
          if let key { status.member("clientKeyData", text: key.secret) }
        }
      }.withNewline)
  } catch {
    return .failed(error)
  }
}

/// Returns the protocol version that kubectl requests; v1 if it requests none.
private func apiVersion(in information: String?) throws(StorageError) -> String {
  let versions = ["v1", "v1beta1"].map { "client.authentication.k8s.io/" + $0 }
  guard let information else { return versions[0] }
  let version: String
  do throws(JSONError) {
    version = try JSONObject(Secret(utf8: information)).required("apiVersion").string()
  } catch {
    throw StorageError(error)
  }
  guard versions.contains(version) else {
    throw StorageError(
      .badRequest, "kubectl asks in a version that kist does not know",
      hint: "set apiVersion in the kubeconfig to \(versions[0])")
  }
  return version
}
