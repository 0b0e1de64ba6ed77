package import KistCore
internal import KistJSON

/// Docker's `config.json`, as far as `kist setup docker` changes it: docker-login(1).
package struct DockerConfiguration: Sendable {
  /// The text in which docker asks kist; `nil` if it does already.
  package let changed: Secret?
  /// The number of logins in plain text, which stay in the file.
  package let plainLogins: Int

  /// The maximum size of the file in bytes.
  package static let longestFile = ForeignFormat.docker.longestFile

  /// Reads the file; `nil` means that there is none.
  ///
  /// Only one member is added, and all other bytes stay. Throws if the text is not a JSON object, or
  /// if docker asks another helper.
  package init(of text: Secret?) throws(StorageError) {
    guard let text else {
      changed = Secret(utf8: "{\n\t\"credsStore\": \"kist\"\n}\n")
      plainLogins = 0
      return
    }
    do throws(StorageError) {
      plainLogins = try dockerCredentials(in: text).entries.count
    } catch {
      throw .refused(
        "docker's configuration was not changed: \(error.message)",
        hint: "correct the file, then run the command again")
    }
    let (store, isEmpty) = try readJSON(text) { (object) throws(JSONError) in
      (try object["credsStore"]?.string(), try object.members(as: "config.json").isEmpty)
    }
    guard store == nil || store == "kist" else {
      throw .refused(
        "docker already has another helper; its configuration was not changed", as: .conflict,
        hint: "remove `credsStore` from the file, then run the command again")
    }
    changed = store == nil ? text.withCredsStore(beforeOthers: !isEmpty) : nil
  }
}

extension Secret {
  /// Returns the text of a JSON object with `credsStore` as its first member.
  fileprivate func withCredsStore(beforeOthers: Bool) -> Secret {
    withBytes { bytes in
      let brace = bytes.firstOffset(of: UInt8(ascii: "{"), from: 0) ?? 0
      var changed = WipedBytes(capacity: bytes.count + 32)
      changed.append(bytes.extracting(...brace))
      changed.append(utf8: "\n\t\"credsStore\": \"kist\"" + (beforeOthers ? "," : "\n"))
      changed.append(bytes.extracting((brace + 1)...))
      return Secret(changed)
    }
  }
}
