import KistCore
import KistTesting
import KistWire
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `kist doctor` {
  @Test func `says that all is well, in a line for each, and ends with 0`() async {
    let (output, status) = await examine(.healthy)
    #expect(
      output == """
        ok\tkistd\t\(KistVersion.current) answers at /run/user/7/kist/kist.sock\t
        ok\tstorage\tthere is no keyring; it is open, with 3 credentials\t
        ok\tkey\ta key file\t
        ok\tkeyring\tnot used: there is no session bus\t
        ok\tservice\tsystemd starts kistd for the first client\t
        ok\tlinger\tkistd can run without a session\t
        ok\tfiles\tother users have no access to /run/user/7/kist, /home/u/.local/share/kist, \
        /home/u/.local/state/kist\t
        ok\tdisk\t1024 MiB are free for /home/u/.local/share/kist\t
        ok\tkist\t\(KistVersion.current), /usr/bin/kist\t
        ok\tplaintext\tno secrets were found in the files of other tools and of shells\t

        """)
    #expect(status == 0)
  }

  @Test func `names a problem, what to do, and ends with its status`() async {
    var machine = Machine.healthy
    machine.status = .failure(
      StorageError(.unavailable, "nothing listens", hint: "start kistd"))
    machine.hello = .failure(StorageError(.unavailable, "nothing listens", hint: "start kistd"))
    let (output, status) = await examine(machine)
    #expect(output.contains("problem\tkistd\tnothing listens\tstart kistd\n"))
    #expect(
      output.contains(
        """
        ok\tstorage\tkistd would open the encrypted file: there is no session bus\t
        ok\tkeyring\tnot used: there is no session bus\t

        """))
    #expect(status == 7)
  }

  @Test func `finds no problem if the next command starts kistd`() async {
    var machine = Machine.healthy
    machine.isLeftToStart = true
    machine.status = .failure(StorageError(.unavailable, "nothing listens"))
    let (output, status) = await examine(machine)
    #expect(
      output.hasPrefix(
        """
        ok\tkistd\tit does not run; the first command that needs it starts it\t
        ok\tstorage\tkistd would open the encrypted file: there is no session bus\t

        """))
    #expect(status == 0)
  }

  @Test func `shows which variable of kistd is wrong`() async {
    var machine = Machine.healthy
    machine.isLeftToStart = true
    machine.status = .failure(StorageError(.unavailable, "nothing listens"))
    machine.diagnosis.choice = .failure(.badRequest("KISTD_IDLE_EXIT has no unit"))
    let (output, status) = await examine(machine)
    #expect(output.hasPrefix("note\tkistd\tit does not run, and cannot start\t\n"), "\(output)")
    #expect(output.contains("\nproblem\tstorage\tKISTD_IDLE_EXIT has no unit\t"), "\(output)")
    #expect(status == 7)
  }

  @Test(arguments: [
    (["LoadState=masked"], true, "its unit is masked"),
    ([], false, "there is no program kistd"),
  ])
  func `finds a problem if the next command cannot start kistd`(
    unit: [String], hasProgram: Bool, reason: String
  ) async {
    var machine = Machine.healthy
    machine.isLeftToStart = true
    machine.unit = unit
    if !hasProgram { machine.files["/usr/bin/kistd"] = nil }
    machine.status = .failure(StorageError(.unavailable, "nothing listens"))
    let (output, status) = await examine(machine)
    #expect(output.hasPrefix("problem\tkistd\t") && output.contains(reason), "\(output)")
    #expect(status == 7)
  }

  @Test func `over a socket that was named says what to ask over that`() async {
    var machine = Machine.healthy
    Fault.locked.befall(&machine)
    let (output, _) = await examine(machine, ["--socket", "/tmp/a b.sock"])
    #expect(output.contains("\tunlock it with `kist unlock --socket '/tmp/a b.sock'`\n"))
  }

  @Test(arguments: [
    (
      Fault.locked,
      "problem\tstorage\tthere is no keyring; the storage is locked\tunlock it with `kist unlock`\n",
      5
    ),
    (.keyless, "problem\tstorage\tthere is no keyring; the key file is missing\tput it back\n", 5),
    (.damaged, "problem\tstorage\tthere is no keyring; it is damaged,", 10),
    (
      .replacedFile, "problem\tstorage\tthe file was replaced\texport the credentials\n", 7
    ),
    (.swappable, "note\tmemory\tthe keys may be written to swap: ", 0),
    (.notOpened, "problem\tstorage\tthere is no session bus\tlog in\n", 7),
    (.keyGone, "note\trestart\tkistd needs its key file after a restart, ", 0),
    (
      .refusedAtRestart,
      "problem\trestart\tkistd would not start again: other users may write to the directory D\tclose",
      6
    ),
    (.closesAtRestart, "note\trestart\tthe storage is locked after a restart of kistd\t", 0),
    (
      .olderDaemon, "note\tkistd\t0.0.1 answers at /run/user/7/kist/kist.sock, and this is kist ", 0
    ),
    (.lockedKeyringBeside, "note\tkeyring\tit is locked, but credentials are kept elsewhere\t", 0),
    (.keyringBeside, "note\tkeyring\tit can be used, but credentials are kept elsewhere\t", 0),
    (
      .noKeyring,
      "ok\tkeyring\tkistd has it open, but this shell cannot reach it: there is no session bus\t",
      0
    ),
    (.lockedKeyring, "note\tkeyring\tit is locked\t", 0),
    (.damagedItem, "problem\tstorage\titem 2 is damaged\tdelete it", 10),
    (.plainSession, "note\tsession\tthe provider of the storage does not encrypt sessions: ", 0),
    (.oldCopy, "note\tvault\tthe copy on this machine may be old: it was confirmed 31s ago", 0),
    (.incompleteCopy, "note\tvault\tthe copy on this machine has fewer changes than ", 0),
    (.noDaemonProgram, "note\tkistd\tthere is no kistd next to kist or on PATH\t", 0),
    (
      .readableProgram,
      "note\tprograms\tyou can read /usr/bin/kist, so your other programs can open its memory while it "
        + "starts\tmake it unreadable: `sudo chmod 711 /usr/bin/kist`", 0
    ),
    (
      .readableOwnProgram,
      "note\tprograms\tyou can read /usr/bin/kistd, so your other programs can open its memory while it "
        + "starts\tmake it unreadable: `chmod 111 /usr/bin/kistd`", 0
    ),
    (.otherKist, ", but the command `kist` runs /usr/local/bin/kist\t", 0),
    (.otherHelper, "note\tgit\tit uses /usr/local/bin/git-credential-kist instead of this kist", 0),
    (
      .noHelper,
      "note\tgit\tit is set to ask kist, but there is no git-credential-kist on PATH\t"
        + "make the link in a directory of PATH: `mkdir -p ~/.local/bin && "
        + #"ln -s "$(command -v kist)" ~/.local/bin/git-credential-kist`"#, 0
    ),
    (
      .noDockerHelper,
      "note\tdocker\tit is set to ask kist, but there is no docker-credential-kist on PATH\t", 0
    ),
    (.openDirectory, "note\tfiles\tother users have access to /home/u/.local/state/kist\t", 0),
    (.othersDirectory, "problem\tfiles\t/run/user/7/kist belongs to another user\t", 6),
    (
      .formerKey,
      "note\tformer key\t/home/u/.local/state/kist/key.before-0a opens copies of the store from before",
      0
    ),
    (.fullDisk, "problem\tdisk\t3 MiB are free for /home/u/.local/share/kist\t", 13),
    (.nearlyFullDisk, "note\tdisk\t63 MiB are free", 0),
    (.disabled, "note\tservice\tsystemd starts kistd only after the first kist command\t", 0),
    (.noManager, "note\tservice\tno systemd runs for this user, so kist starts kistd itself\t", 0),
    (.notInstalled, "note\tservice\tsystemd has no unit for kistd, so kist starts it itself\t", 0),
    (
      .failed,
      "problem\tservice\tsystemd could not start kistd\t`journalctl --user -t kistd -t '(kistd)'` shows why",
      7
    ),
    (.masked, "note\tservice\tthe unit of kistd is masked, so kist does not start kistd\t", 0),
    (.noLinger, "note\tlinger\tkistd ends with the last session of this user\ton a server", 0),
    (
      .keyInBackup,
      "note\tbackup\ta backup of /home/u has the store and its key file /home/u/.local/state/kist/key: ",
      0
    ),
    (
      .plaintext,
      "note\tplaintext\t/home/u/.netrc has 1 credential in plain text (netrc)\timport those that kist lacks: "
        + "`kist import netrc /home/u/.netrc`; then remove the file\n", 0
    ),
    (
      .partlyTakenPlaintext,
      "then remove them from the file, which also has what kist does not import\n", 0
    ),
    (
      .unreadPlaintext,
      "note\tplaintext\t/home/u/.netrc: not checked for secrets, because it is not a regular file\t",
      0
    ),
    (
      .noSecretService,
      "note\tsecrets\tprograms that use a keyring, such as gh, VS Code and Python's keyring, find "
        + "none\tinstall kist-secret-service in the directory of kist; then run `kist setup "
        + "secret-service --apply`\n", 0
    ),
    (
      .secretServiceNotStarted,
      "get kist's credentials, from kist-secret-service (process 9); but the session bus would not "
        + "start it again\t`kist setup secret-service --apply`\n", 0
    ),
    (
      .secretServiceOutdated,
      "note\tsecrets\tthe files that start kist-secret-service are not those of this kist\t", 0
    ),
    (
      .nameTaken,
      "get the keyring of gnome-keyring-d (process 9), although kist is set up for them\tend "
        + "it: `kill 9`; `man kist-secret-service` shows how to keep it from starting at the next login\n",
      0
    ),
    (
      .unitsCutOff, "units get no credentials, because kistd-credentials.socket is not started", 7
    ),
    (.atDesk, "ok\tlinger\tkistd ends with the last session of this user\t", 0),
  ])
  func `finds`(_ fault: Fault, said line: String, status expected: CInt) async {
    var machine = Machine.healthy
    fault.befall(&machine)
    let (output, status) = await examine(machine)
    #expect(output.contains(line), "\(output)")
    #expect(status == expected)
  }

  @Test func `with replaced files does not say what happens after a restart`() async {
    var machine = Machine.healthy
    Fault.closesAtRestart.befall(&machine)
    Fault.replacedFile.befall(&machine)
    let (output, _) = await examine(machine)
    #expect(output.contains("problem\tstorage\t") && !output.contains("\trestart\t"), "\(output)")
  }

  @Test(arguments: Fault.allCases)
  func `says what to do of whatever is not well`(_ fault: Fault) async {
    var machine = Machine.healthy
    fault.befall(&machine)
    let (output, _) = await examine(machine)
    for line in output.split(separator: "\n") where !line.hasPrefix("ok\t") {
      #expect(!line.hasSuffix("\t"), "\(line)")
    }
  }

  @Test(arguments: [
    "/home/u/.local/state/kist/.nobackup", "/home/u/.local/state/kist/CACHEDIR.TAG",
  ])
  func `says nothing of backups that leave the key out`(mark: String) async {
    var machine = Machine.healthy
    Fault.keyInBackup.befall(&machine)
    machine.files[mark] = .init(owner: 7, mode: 0o600, identity: [4, 2])
    #expect(await !examine(machine).output.contains("backup"))
  }

  @Test func `does not say that a failed service starts for the first client`() async {
    var machine = Machine.healthy
    machine.isLeftToStart = true
    machine.unit = ["LoadState=loaded", "Listen=/run/user/7/kist/kist.sock (Stream)"]
    Fault.failed.befall(&machine)
    let (output, _) = await examine(machine)
    #expect(output.contains("note\tkistd\tit does not run, and cannot start\t"), "\(output)")
  }

  @Test func `says nothing good of a key that does not open the storage`() async {
    var machine = Machine.healthy
    Fault.keyless.befall(&machine)
    #expect(await !examine(machine).output.contains("ok\tkey\t"))
  }

  @Test func `says nothing of a service where there is no systemd`() async {
    var machine = Machine.healthy
    machine.files["/run/systemd/system"] = nil
    let (output, _) = await examine(machine)
    #expect(!output.contains("systemd"))
    #expect(!output.contains("linger"))
  }
}
