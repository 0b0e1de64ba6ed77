import KistCore
import KistTesting
import KistWire
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `kist doctor, about files` {
  @Test func `does not have a directory closed that others need`() async {
    var machine = Machine.healthy
    machine.files["/"] = .init(owner: 0, mode: 0o755, identity: [3, 1])
    machine.files["/tmp"] = .init(owner: 7, mode: 0o1777, identity: [3, 2])
    for (directory, fault) in [
      ("/", "/ belongs to another user"), ("/tmp", "other users have access to /tmp"),
    ] {
      machine.variables = ["KISTD_DATA": directory]
      let (output, _) = await examine(machine)
      #expect(output.contains("\(fault)\tuse a directory of your own with mode 700\n"), "\(output)")
    }
  }

  @Test func `finds former keys beside a key file of a relative path`() async {
    var machine = Machine.healthy
    machine.variables = ["KISTD_KEY_FILE": "key"]
    machine.files["./key.before-0a"] = .init(owner: 7, mode: 0o600, identity: [3, 1])
    let (output, _) = await examine(machine)
    #expect(output.contains("note\tformer key\tkey.before-0a opens copies"), "\(output)")
  }

  @Test func `asks for free space above a directory that is not there yet`() async {
    var machine = Machine.healthy
    machine.files["/home/u/.local/share/kist"] = nil
    let (output, _) = await examine(machine)
    #expect(output.contains("ok\tdisk\t1024 MiB are free for /home/u\t"))
  }

  @Test func `names the store that kistd has open, and the one that this shell names`() async {
    var machine = Machine.healthy
    machine.variables = ["KISTD_DATA": "/srv/store"]
    machine.files["/srv/served"] = .init(owner: 7, mode: 0o700, identity: [2, 1])
    for folder in ["/srv/store", "/srv/link"] {
      machine.files[folder] = .init(owner: 7, mode: 0o700, identity: [2, 2])
    }
    for (path, isAnother) in [
      ("/srv/served/credentials.db", true), ("/srv/store/credentials.db", false),
      ("/srv/link/credentials.db", false),
    ] {
      machine.setStatus { $0.path = path }
      let (output, _) = await examine(machine)
      let note = "kistd uses the store \(path), but KISTD_DATA in this shell names /srv/store"
      #expect(output.contains("note\tstore\t\(note)\t") == isAnother, "\(output)")
      #expect(output.contains("are free for /srv/served\t") == isAnother, "\(output)")
      for socket in [nil, "/run/kist.sock"] {
        machine.variables["KIST_SOCKET"] = socket
        let recorder = Recorder()
        await machine.host.noteOtherStore(
          machine.checkup.kistd.access, recorder.terminal())
        #expect(recorder.error.contains("kist: \(note)\n") == (isAnother && socket == nil))
      }
      machine.variables["KIST_SOCKET"] = nil
    }
  }

  @Test func `finds a directory of another user in the home where kistd cannot make its own`() async
  {
    var machine = Machine.healthy
    for path in ["/home/u/.local/share/kist", "/home/u/.local/state/kist"] {
      machine.files[path] = nil
    }
    machine.files["/home/u/.local"] = .init(owner: 0, mode: 0o700, identity: [2, 1])
    let (output, _) = await examine(machine)
    let remedy = "give it to your user: `sudo chown -R \"$(id -un)\" /home/u/.local`"
    #expect(
      output.contains("problem\tfiles\t/home/u/.local belongs to another user\t\(remedy)\n"),
      "\(output)")
  }

  @Test func `looks where the variables of kistd say that it keeps things`() async {
    var machine = Machine.healthy
    machine.variables = ["KISTD_DATA": "/srv/store", "KISTD_KEY_FILE": "/srv/keys/key"]
    machine.files["/srv/store"] = .init(owner: 7, mode: 0o700, identity: [2, 1])
    machine.files["/srv/keys"] = .init(owner: 7, mode: 0o755, identity: [2, 2])
    let (output, _) = await examine(machine)
    #expect(output.contains("note\tfiles\tother users have access to /srv/keys\t"))
    #expect(output.contains("are free for /srv/store\t"))
  }

  @Test(arguments: [
    (StorageError(.unavailable, "there is no session bus", hint: "log in"), false),
    (StorageError(.denied, "other users may write to the directory D", hint: "close it"), true),
  ])
  func `does not mention backups if the credentials are in a keyring that cannot be reached`(
    error: StorageError, isMentioned: Bool
  ) async {
    var machine = Machine.healthy
    Fault.keyInBackup.befall(&machine)
    machine.status = .failure(error)
    machine.isLeftToStart = true
    machine.diagnosis.choice = .failure(error)
    #expect(await examine(machine).output.contains("note\tbackup\t") == isMentioned)
  }

  @Test(arguments: ["libsecret", "shared", "encrypted-file"])
  func `mentions backups before kistd runs only if it would open the encrypted file`(
    storage: String
  ) async {
    var machine = Machine.healthy
    Fault.keyInBackup.befall(&machine)
    machine.status = .failure(.locked("x"))
    machine.isLeftToStart = true
    machine.diagnosis.choice = .success(.init(storage: storage, reason: "chosen before"))
    #expect(await examine(machine).output.contains("backup") == (storage == "encrypted-file"))
  }

  @Test(arguments: [
    (StorageStatus.Unlocking.passphrase, "a passphrase"),
    (.keyFile, "a passphrase file, /home/u/pw"),
  ])
  func `says nothing of backups where another key opens the store`(
    kind: StorageStatus.Unlocking, protection: String
  ) async {
    var machine = Machine.healthy
    Fault.keyInBackup.befall(&machine)
    machine.setStatus { ($0.unlocksWith, $0.keyProtection) = (kind, protection) }
    #expect(await !examine(machine).output.contains("backup"))
  }
}
