import Foundation
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(3))) struct `kistd -- COMMAND` {
  @Test func `uses the kistd that already serves the store, and ends with its own status`()
    async throws
  {
    try await withHome { home in
      let inner = "kistd -- sh -c 'kist load s; echo $KIST_SOCKET; exit 4'; echo $?"
      let line = "echo $KIST_SOCKET; printf pw | kist save s; \(inner); exit 3"
      let end = try await command("kistd", ["--", "sh", "-c", line], in: home)
      #expect(end.status == .exited(3))
      let lines = end.output.split(separator: "\n").map(String.init)
      try #require(lines.count == 3, "\(end.output)\(end.error)")
      #expect(lines[1] == "pw" + lines[0])
      #expect(lines[2] == "4")
    }
  }

  @Test(arguments: [
    (
      "kistd -- kist load s",
      "`kist status` shows which storage it is; a new store or keyring is empty; `kist status` "
        + "needs the same KIST_SOCKET, which "
    ),
    ("kistd -- sh -c 'kist load s --socket $KIST_SOCKET'", "`kist status --socket /"),
  ])
  func `completes hints for a shell that has another KIST_SOCKET`(line: String, hint: String)
    async throws
  {
    try await withHome { home in
      let end = try await command("sh", ["-c", line], in: home)
      #expect(end.status == .exited(2))
      #expect(end.error.contains("\nhint: \(hint)"), "\(end.error)")
    }
  }

  @Test func `whose kistd is killed gets an error that says to run it again`() async throws {
    try await withHome { home in
      let line = "kill -KILL $PPID; tail --pid=$PPID -f /dev/null; kist list"
      let end = try await command("sh", ["-c", "kistd -- sh -c '\(line)' 2>&1 | cat"], in: home)
      let hint = "run the command again with `kistd -- COMMAND`; for another kistd, `unset "
      #expect(end.output.contains(hint), "\(end.output)")
    }
  }

  @Test func `twenty times at once serves every command`() async throws {
    try await withHome { home in
      let each = #"kistd -- sh -c "printf pw | kist save s$i; exit $i"; [ $? = $i ] || echo bad $i"#
      let line = "for i in $(seq 20); do (\(each)) & done; wait; kistd -- kist list | wc -l"
      let end = try await command("bash", ["-c", line], in: home)
      #expect(end.output == "20\n")
      #expect(end.error.split(separator: "\n").count == 1, "only the new store: \(end.error)")
    }
  }

  @Test func `serves until the commands of others have ended`() async throws {
    try await withHome { home in
      // The inner kistd outlives the outer command, which the FIFO tells it.
      let inner = "kistd -- sh -c 'echo > begun; read x < ended; kist list && echo served > out'"
      let outer = "(\(inner)) & read x < begun; exit 3"
      let line =
        "cd ~; mkfifo begun ended; (kistd -- bash -c \"$0\"; echo $? > status) & "
        + "pid=$!; until [ -e /proc/$pid ] && [ -p begun ]; do :; done; echo > ended; wait; "
        + "cat status out"
      let end = try await command("bash", ["-c", line, outer], in: home)
      #expect(end.output == "3\nserved\n", "\(end.error)")
    }
  }

  @Test func `prints nothing of its own if there is a store`() async throws {
    try await withHome { home in
      _ = try await command("kistd", ["--", "true"], in: home)
      let end = try await command("kistd", ["--", "true"], in: home)
      #expect(end.output + end.error == "")
      let logged = try await command("kistd", ["--log-level", "info", "--", "true"], in: home)
      #expect(logged.error.contains("serving"))
    }
  }

  @Test(arguments: [
    ("--socket $XDG_RUNTIME_DIR/other/s", ") is running with this store"),
    ("--data $HOME/other", ""),
  ])
  func `with another socket or store does not use that kistd`(options: String, error: String)
    async throws
  {
    try await withHome { home in
      let inner = "kistd \(options) -- sh -c 'echo $KIST_SOCKET'"
      let end = try await command(
        "kistd", ["--", "sh", "-c", "echo $KIST_SOCKET; \(inner)"], in: home)
      let sockets = end.output.split(separator: "\n")
      #expect(Set(sockets).count == (error.isEmpty ? 2 : 1), "\(end.output)")
      #expect(end.error.contains(error) || error.isEmpty, "\(end.error)")
    }
  }

  @Test func `does not use a kistd whose file was replaced`() async throws {
    try await withHome { home in
      let options = "--data ~/other --key-file ~/key"
      let inner = "kistd \(options) -- echo started"
      let line =
        "printf one | kist save s; cp ~/other/credentials.db ~/copy; "
        + "install -m 600 ~/copy ~/other/credentials.db; \(inner); echo $?"
      let end = try await command("sh", ["-c", "kistd \(options) -- sh -c '\(line)'"], in: home)
      #expect(end.output == "7\n", "\(end.output)")
      #expect(
        end.error.contains("kistd: the kistd that serves this store cannot use its file: "),
        "\(end.error)")
    }
  }

  @Test func `does not use a kistd with another storage than the requested one`() async throws {
    try await withHome { home in
      // kistd records the storage at the first save, and this store is empty.
      let options = "--data ~/other --key-file ~/key"
      let inner = "kistd \(options) --storage libsecret -- echo started"
      let end = try await command(
        "sh", ["-c", "kistd \(options) -- sh -c '\(inner); echo $?'"], in: home)
      #expect(end.output == "7\n", "\(end.output)")
      #expect(end.error.contains("has the storage encrypted-file, but libsecret was requested"))
    }
  }

  @Test(arguments: [("served", "mkfifo"), ("served", "mkdir"), ("served.users", "mkfifo")])
  func `refuses at once what is not its file of the socket, and does not change it`(
    name: String, make: String
  ) async throws {
    try await withHome { home in
      let line =
        "mkdir -p -m 700 ~/.local/state/kist; cd ~/.local/state/kist; \(make) \(name); "
        + "kistd -- echo started; echo $?; stat -c %F \(name)"
      let end = try await command("timeout", ["-s", "KILL", "60", "sh", "-c", line], in: home)
      let kind = make == "mkdir" ? "directory" : "fifo"
      #expect(end.output == "6\n\(kind)\n", "\(end.output)")
      #expect(end.error.contains("/kist/\(name) is not a regular file"), "\(end.error)")
    }
  }

  @Test func `with a passphrase starts only if the kistd that serves the store accepts it`()
    async throws
  {
    try await withHome { home in
      let run = { (passphrase: String) in
        "printf '\(passphrase)' | kistd --passphrase-fd 0 -- echo started; echo $?; "
      }
      let line =
        run("wrong horse") + "kist lock > /dev/null; " + run("wrong horse")
        + run("right horse") + "kist status | grep ^locked"
      let end = try await command(
        "kistd", ["--passphrase-fd", "0", "--", "sh", "-c", line], in: home, input: "right horse")
      #expect(end.output == "11\n11\nstarted\n0\nlocked: false\n", "\(end.output)\(end.error)")
    }
  }

  @Test(arguments: ["", "KISTD_KEY_FILE=$HOME/none "])
  func `does not start beside a running kistd if the named key file cannot be read`(
    variable: String
  ) async throws {
    try await withHome { home in
      let options = variable.isEmpty ? "--key-file $HOME/none" : ""
      let inner = "\(variable)kistd \(options) -- echo started; echo $?; "
      let line =
        inner + "touch ~/none; chmod 600 ~/none; " + inner
        + "cp ~/.local/state/kist/key ~/none; " + inner
      let end = try await command("kistd", ["--", "sh", "-c", line], in: home)
      #expect(end.output == "64\n6\nstarted\n0\n", "\(end.error)")
      #expect(end.error.contains("the key file \(home.path)/none is missing"), "\(end.error)")
    }
  }

  @Test func `confines itself but not its command beside a running kistd`() async throws {
    try await withHome { home in
      let states = "grep -hE 'NoNewPrivs|Seccomp:'"
      let line = "\(states) /proc/$PPID/task/*/status /proc/$$/status | sort | uniq -c"
      let end = try await command(
        "kistd", ["--", "kistd", "--", "sh", "-c", "\(line)"], in: home)
      let counts = end.output.split(separator: "\n").map {
        $0.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      }
      #expect(counts.contains("1 NoNewPrivs: 0"), "\(end.output)\(end.error)")
      #expect(counts.contains("1 Seccomp: 0"), "\(end.output)")
      #expect(counts.count == 4, "\(end.output)")
    }
  }

  @Test func `four times at once with the passphrase serves every command`() async throws {
    try await withHome { home in
      let each = "(printf 'right horse' | kistd --passphrase-fd 0 -- echo started) & "
      let end = try await command(
        "kistd", ["--passphrase-fd", "0", "--", "sh", "-c", each + each + each + each + "wait"],
        in: home, input: "right horse")
      #expect(end.output == String(repeating: "started\n", count: 4), "\(end.error)")
      #expect(end.error.split(separator: "\n").count == 1, "only the new store: \(end.error)")
    }
  }

  @Test func `is not disturbed by others with a wrong passphrase at the same time`() async throws {
    try await withHome { home in
      let run = "kistd --data $HOME/d --passphrase-fd 0 --"
      let wrong = "(echo wrong | \(run) true 2>&1; echo $?) | tail -n 1 &"
      let right = "(sleep 0.$i; echo passphrase | \(run) sh -c 'kist load s; echo') &"
      let line =
        "echo passphrase | \(run) sh -c 'printf pw | kist save s' 2> /dev/null; "
        + "for i in 1 3 5; do \(wrong) \(wrong) \(right) wait; echo; done"
      let end = try await command("bash", ["-c", line], in: home)
      let ends = end.output.split(separator: "\n").sorted().joined(separator: " ")
      #expect(ends == "11 11 11 11 11 11 pw pw pw", "\(end.error)")
    }
  }

  @Test(arguments: [(["--data", "data"], "data/credentials.db"), ([], nil)])
  func `reports once that it made a new store`(words: [String], path: String?) async throws {
    try await withHome { home in
      let words = words.map { $0 == "data" ? home.path + "/data" : $0 }
      let store = path.map { home.path + "/" + $0 } ?? home.store
      for isNew in [true, false] {
        let end = try await command(
          "kistd", words + ["--passphrase-fd", "0", "--", "true"], in: home, input: "right horse")
        #expect(end.status == .exited(0))
        let warning = "kistd: warning: made a new store, \(store), "
        #expect(isNew ? end.error.hasPrefix(warning) : end.error == "", "\(end.error)")
      }
    }
  }

  @Test func `prints nothing about progress notes if the home is read-only and has none`()
    async throws
  {
    try await withHome { home in
      let script = """
        obeying="setpriv --bounding-set=-all"; [ "$(id -u)" = 0 ] || obeying=
        mkdir -m 700 ~/store; mkdir -m 500 ~/home
        run() { HOME=$1 $obeying kistd --data ~/store --passphrase-fd 3 -- sh -c "$2" 3<<E
        correct horse
        E
        }
        run ~/home true 2>/dev/null
        run ~/home 'echo pw | kist save s'; run ~/home 'kist load s'
        mkdir -p ~/other/.local/state/kist; chmod 500 ~/other/.local/state/kist
        run ~/other true
        chmod -R u+rwX ~
        """
      let end = try await command("bash", ["-c", script], in: home)
      #expect(end.output == "pw", "\(end.error)")
      let lines = end.error.split(separator: "\n")
      #expect(lines.count == 1 && lines[0].contains("cannot use its progress note"), "\(lines)")
    }
  }

  @Test func `keeps the progress note of a store elsewhere in the state directory`() async throws {
    try await withHome { home in
      let words = ["--data", home.path + "/data", "--", "sh", "-c", "printf pw | kist save s"]
      let end = try await command("kistd", words, in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      let notes = try FileManager.default.subpathsOfDirectory(atPath: home.path)
        .filter { $0.contains("progress") }
      #expect(notes.count == 1 && notes[0].hasPrefix(".local/state/kist/progress-"), "\(notes)")
    }
  }

  @Test func `with a store of a passphrase says how to give it`() async throws {
    try await withHome { home in
      let made = try await command(
        "kistd", ["--passphrase-fd", "0", "--", "true"], in: home, input: "correct horse")
      try #require(made.status == .exited(0), "\(made.error)")
      let end = try await command("kistd", ["--", "kist", "list"], in: home)
      #expect(end.status == .exited(5))
      #expect(end.error.contains("`kistd --passphrase-fd 3 -- COMMAND 3<FILE`"), "\(end.error)")
    }
  }

  @Test func `is of use to a kist that names no socket`() async throws {
    try await withAutostart { home in
      let line = "unset KIST_SOCKET; kist status | grep ^locked; kist save s <<<pw; kist load s"
      let end = try await command("kistd", ["--", "bash", "-c", line], in: home)
      #expect(end.output == "locked: false\npw", "\(end.error)")
      #expect(home.daemon == nil)
    }
  }
}
