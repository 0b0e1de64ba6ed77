import Foundation
import Glibc
import KistCore
import KistTesting
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(5))) struct `Secrets in plain text, which kist doctor finds` {
  /// A file, its content with the secret `hunter2…`, and what doctor says.
  struct Plain: Sendable {
    var path: String
    var content: String
    var said: String
  }

  private static let token = "hunter2hunter2hunter2hunter2hunter2hunter2"

  @Test(arguments: [
    Plain(
      path: ".git-credentials",
      content: "https://hunter2@git.example\nhttps://a:hunter2@git.example\n",
      said: "1 credential in plain text (git-credentials)\timport those that kist lacks: `kist"),
    Plain(
      path: ".config/git/credentials", content: "https://a:hunter2@git.example\n",
      said: "`kist import git-credentials /home/u/.config/git/credentials`"),
    Plain(
      path: ".netrc", content: "default login a password hunter2\n",
      said: "`kist import netrc /home/u/.netrc`"),
    Plain(
      path: ".docker/config.json", content: #"{"auths":{"ghcr.io":{"auth":"YTpodW50ZXIy"}}}"#,
      said: "`kist import docker /home/u/.docker/config.json`; then remove `auths` from it"),
    Plain(
      path: ".aws/credentials",
      content: "[p]\naws_access_key_id = hunter2\naws_secret_access_key = hunter2\n",
      said: "`kist import aws /home/u/.aws/credentials`"),
    Plain(
      path: ".cargo/credentials.toml", content: "[registries.mine]\ntoken = \"hunter2\"\n",
      said: "`kist import cargo /home/u/.cargo/credentials.toml`"),
    Plain(
      path: ".npmrc", content: "//registry.npmjs.org/:_authToken=hunter2\n",
      said: "an npm token in plain text\tmove it into kist: `kist save registry.npmjs.org`"),
    Plain(
      path: ".pypirc", content: "[pypi]\nusername: __token__\npassword: hunter2\n",
      said: "`kist save https://upload.pypi.org/legacy/ __token__`"),
    Plain(
      path: ".pgpass", content: "# x\ndb:5432:*:al\\:ice:hunter2\n",
      said: "`kist run --env PGPASSWORD=kist://postgres/USER -- psql`"),
    Plain(
      path: ".my.cnf", content: "[client]\npassword = \"hunter2\"\n",
      said: "`kist run --env MYSQL_PWD=kist://mysql/USER -- mysql`"),
    Plain(
      path: ".m2/settings.xml", content: "<server><password>hunter2</password></server>",
      said: "a Maven password in plain text\t"),
    Plain(
      path: ".cargo/credentials", content: "[registries.mine]\ntoken = \"hunter2\"\n",
      said: "`kist import cargo /home/u/.cargo/credentials`"),
    Plain(
      path: ".terraform.d/credentials.tfrc.json",
      content: #"{"credentials":{"app.terraform.io":{"token":"hunter2"}}}"#,
      said: "a Terraform token in plain text\tmove it into kist: `kist setup terraform`"),
    Plain(
      path: ".kube/config", content: "users:\n- name: a\n  user:\n    token: hunter2\n",
      said: "`kist save kubectl:NAME token`"),
    Plain(
      path: ".config/rclone/rclone.conf", content: "[b2]\nuser = a\npass = hunter2\n",
      said: "`rclone config encryption set`"),
    Plain(
      path: ".config/rclone/rclone.conf", content: #"token = {"access_token":"hunter2"}"# + "\n",
      said: "that rclone can read"),
    Plain(
      path: ".config/pip/pip.conf",
      content: "[global]\nindex-url = https://a:hunter2@p.example/s\n",
      said: "`kist save ADDRESS USER`"),
    Plain(
      path: ".pip/pip.conf",
      content: "extra-index-url =\n  https://p.example https://a:hunter2@q/\n",
      said: "a password in an address"),
    Plain(
      path: ".config/age/keys.txt",
      content: "AGE-SECRET-KEY-1\(String(repeating: "Q", count: 58))\n",
      said: "an age secret key in plain text, first in line 1"),
    Plain(
      path: ".bash_history", content: "ls\ncurl -u ghp_\(token)\n",
      said: "a GitHub token in plain text, first in line 2\tsave it with `kist save https://github"),
    Plain(
      path: ".bashrc", content: "export T='glpat-\(token)'\n", said: "a GitLab token in plain text"),
    Plain(
      path: ".docker/config.json", content: "hunter2",
      said: "/home/u/.docker/config.json may have secrets, but kist cannot read it as docker\t"),
  ])
  func `are reported with path, kind and command, and never with a value`(plain: Plain) {
    var machine = Machine.healthy
    let path = "/home/u/" + plain.path
    machine.homeFiles[path] = .text(Secret(utf8: plain.content), isCut: false)
    let findings = machine.host.plaintextFindings()
    #expect(findings.count == 1)
    let line = findings.map { "\($0.message)\t\($0.hint ?? "")" }.joined()
    #expect(line.contains(plain.said), "\(line)")
    #expect(line.contains(path))
    #expect(!line.contains("hunter2") && !line.contains("git.example") && !line.contains("__al"))
    #expect(findings.allSatisfy { $0.state == .note })
  }

  @Test(arguments: [
    (".npmrc", "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n"),
    (".pip/pip.conf", "# https://a:x@q/\nindex-url = https://a:${P}@q/\nx = https://q:8080/a@b\n"),
    (".pip/pip.conf", "index-url = https://alice@pypi.example/simple\n"),
    (".kube/config", "    exec:\n      command: kist\n"),
    (".config/rclone/rclone.conf", "RCLONE_ENCRYPT_V0:\nabc=\n"),
    (".npmrc", "; _authToken=x\nregistry=https://registry.npmjs.org\n"),
    (".pypirc", "[pypi]\nusername = __token__\npassword =\n"),
    (".pgpass", "#a:b:c:d:e\na:b:c:d:\n"), (".my.cnf", "[client]\nuser=alice\n"),
    (
      ".m2/settings.xml",
      "<password>${env.P}</password><password>{enc}</password><password></password>"
    ),
    (".docker/config.json", #"{"credsStore":"kist","auths":{"ghcr.io":{}}}"#),
    (".aws/credentials", "[p]\nregion = eu\n"),
    (".bash_history", "echo ghp_short xghp_\(token)\nexport TOKEN=$(kist load github.com)\n"),
  ])
  func `are not reported where there are none`(path: String, content: String) {
    var machine = Machine.healthy
    machine.homeFiles["/home/u/" + path] = .text(Secret(utf8: content), isCut: false)
    #expect(machine.host.plaintextFindings().map(\.state) == [.ok])
  }

  @Test func `are looked for in the beginning of a long file, which is said`() {
    var machine = Machine.healthy
    machine.homeFiles["/home/u/.bashrc"] = .text(Secret(utf8: "a"), isCut: true)
    machine.homeFiles["/home/u/.zshrc"] = .text(Secret(utf8: "a"), isCut: true)
    #expect(
      machine.host.plaintextFindings().map(\.message)
        == ["/home/u/.bashrc, /home/u/.zshrc: only the first 4 MiB were checked"])
  }

  @Test(arguments: [
    ("file", "text"), ("link", "text"), ("absolute", "text"), ("linked/file", "text"),
    ("long", "text, cut"), ("missing", "missing"), ("file/below", "missing"),
    ("folder", "missing"), ("fifo", "is not a regular file"),
    ("outside", "is a link to outside of "), ("folder/up", "is a link to outside of "),
    ("loop", "is a link that cannot be followed"), ("device", "is a link to outside of "),
  ])
  func `are read only from regular files inside the home directory`(
    name: String, expected: String
  ) throws {
    let home = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID())").path
    try FileManager.default.createDirectory(
      atPath: home + "/folder", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    for (name, text) in [("file", "four"), ("folder/file", "four"), ("long", "longer")] {
      try Data(text.utf8).write(to: URL(filePath: "\(home)/\(name)"))
    }
    #expect(unsafe mkfifo(home + "/fifo", 0o600) == 0)
    for (name, target) in [
      ("link", "folder/../file"), ("absolute", home + "/folder/file"), ("linked", "folder"),
      ("outside", "/etc/passwd"), ("folder/up", "../../etc"), ("loop", "loop"),
      ("device", "/dev/zero"),
    ] {
      try FileManager.default.createSymbolicLink(
        atPath: "\(home)/\(name)", withDestinationPath: target)
    }
    let found =
      switch homeFile(name, in: home, upTo: 4) {
      case .missing: "missing"
      case .refused(let reason): reason
      case .text(let text, let isCut): text.count == 4 ? isCut ? "text, cut" : "text" : "other text"
      }
    #expect(found.hasPrefix(expected), "\(found)")
    #expect(found == expected || expected.hasSuffix(" "))
  }

  @Test(.needsRoot("to give files away"))
  func `are not read from files of other users`() throws {
    let home = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID())").path
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    try Data("four".utf8).write(to: URL(filePath: home + "/file"))
    #expect(unsafe chown(home + "/file", 65534, 65534) == 0)
    guard case .refused("belongs to another user") = homeFile("file", in: home, upTo: 4) else {
      Issue.record("the file was not refused")
      return
    }
  }
}
