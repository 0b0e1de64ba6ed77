import Glibc
import KistClient
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Where no connection can be made` {
  @Test func `because there is no daemon, the error names the command that starts one`()
    async throws
  {
    // In a process of its own, whose environment names the folder.
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        unsafe setenv("XDG_RUNTIME_DIR", folder, 1)
        let stale = folder + "/s"
        close(try listen(at: stale))
        for path in [stale, folder + "/none", folder + "/new/none"] {
          let error = await failure { () throws(StorageError) in
            try await connect(to: path)(Line("change"))
          }
          #expect(error?.code == .unavailable)
          #expect(error?.outcome == .unchanged)
          #expect(error?.hint == "start one with `kistd --detach --socket \(path)`")
        }
      }
    }
  }

  @Test func `because the daemon listens at the usual socket, the error names that`() async throws {
    // In a process of its own, whose environment names the folder.
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        unsafe setenv("XDG_RUNTIME_DIR", folder, 1)
        unsafe mkdir(folder + "/kist", 0o700)
        let usual = folder + "/kist/kist.sock"
        let listener = try listen(at: usual)
        let error = await failure { () throws(StorageError) in
          try await connect(to: folder + "/none")(Line("change"))
        }
        close(listener)
        #expect(error?.code == .unavailable)
        #expect(error?.message == "no kistd is listening at \(folder)/none")
        #expect(
          error?.hint == "kistd is listening at \(usual): leave out --socket and KIST_SOCKET")
      }
    }
  }

  @Test func `because the kistd of a command has ended, the hint starts none at its socket`()
    async throws
  {
    // In a process of its own, whose environment names the socket.
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        let path = folder + "/kist-a1B2c3/kist.sock"
        unsafe setenv("KIST_SOCKET", path, 1)
        let error = await failure { () throws(StorageError) in
          try await connect(to: path)(Line("change"))
        }
        #expect(error?.code == .unavailable)
        #expect(error?.hint?.contains("has ended") == true)
        #expect(error?.hint?.contains("start") == false)
      }
    }
  }

  @Test func `because the kistd of a command was killed, the hint says to run the command again`()
    async throws
  {
    // In a process of its own, whose environment names the socket.
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        unsafe mkdir(folder + "/kist-a1B2c3", 0o700)
        let path = folder + "/kist-a1B2c3/kist.sock"
        unsafe setenv("KIST_SOCKET", path, 1)
        // Without a socket in it, the directory may be one that the user made.
        for isThere in [false, true] {
          if isThere { close(try listen(at: path)) }
          let error = await failure { () throws(StorageError) in
            try await connect(to: path)(Line("change"))
          }
          #expect(error?.code == .unavailable)
          #expect(error?.hint?.contains("run the command again with `kistd -- ") == isThere)
          #expect(error?.hint?.contains("start one with") == !isThere)
        }
      }
    }
  }

  @Test(arguments: ["/etc/passwd", "/etc", "/dev/null"])
  func `because something else is there, the error says so`(path: String) async {
    let error = await failure { () throws(StorageError) in
      try await connect(to: path)(Line("change"))
    }
    #expect(error?.code == .unavailable)
    #expect(error?.message == "\(path) is not a socket")
    #expect(error?.hint == "name kistd's socket with --socket or KIST_SOCKET")
  }

  // No process can make `/proc/nope`.
  @Test(arguments: ["/proc/nope", "/dev/null/s", "/etc/passwd/below/s"])
  func `because kistd could not listen there either, the hint names no command that fails`(
    path: String
  ) async {
    let error = await failure { () throws(StorageError) in
      try await connect(to: path)(Line("change"))
    }
    #expect(error?.code == .unavailable)
    #expect(error?.message == "no kistd is listening at \(path)")
    #expect(error?.hint?.contains("directory of your own with mode 700") == true)
    #expect(error?.hint?.contains("start one with") == false)
  }

  @Test func `because the socket belongs to another user, the error is denied`() async throws {
    // In a process of its own, which root can make somebody else's.
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        let listener = try listen(at: folder + "/s")
        unsafe chmod(folder, 0)
        if geteuid() == 0 { seteuid(65534) }
        let error = await failure { () throws(StorageError) in
          try await connect(to: folder + "/s")(Line("change"))
        }
        seteuid(getuid())
        unsafe chmod(folder, 0o700)
        close(listener)
        #expect(error?.code == .denied)
        #expect(error?.outcome == .unchanged)
      }
    }
  }

  @Test(.needsRoot("to become another user"))
  func `because another user listens, the error is denied and nothing is sent`() async throws {
    // In a process of its own, which becomes another user than the one that listens.
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        let listener = try listen(at: folder + "/s")
        unsafe chmod(folder, 0o711)
        unsafe chmod(folder + "/s", 0o666)
        seteuid(65534)
        let error = await failure { () throws(StorageError) in
          try await connect(to: folder + "/s")(Line("change"))
        }
        seteuid(getuid())
        #expect(error?.code == .denied)
        #expect(error?.outcome == .unchanged)
        #expect(error?.message == "another user's process listens at \(folder)/s")
        let client = accept(listener, nil, nil)
        var byte: UInt8 = 0
        let received = unsafe recv(client, &byte, 1, 0)
        #expect(received == 0)
        close(client)
        close(listener)
      }
    }
  }

  @Test(.needsRoot("to give a directory away"), arguments: [0o755, 0o000])
  func `because XDG_RUNTIME_DIR belongs to another user, the error says so`(mode: Int) async {
    // In a process of its own, whose environment names the folder.
    await #expect(processExitsWith: .success) { [mode = mode as Int] in
      try await withFolder { folder in
        unsafe setenv("XDG_RUNTIME_DIR", folder, 1)
        unsafe chmod(folder, mode_t(mode))
        seteuid(65534)
        let error = await failure { () throws(StorageError) in
          try await connect(to: folder + "/kist/kist.sock")(Line("change"))
        }
        seteuid(getuid())
        #expect(error?.code == .denied)
        #expect(
          error?.message == "XDG_RUNTIME_DIR names \(folder), which belongs to another user")
        #expect(error?.hint?.hasSuffix("`unset XDG_RUNTIME_DIR`") == true)
      }
    }
  }

  @Test func `because its path has 200 bytes, the error names the path`() async {
    let path = "/" + String(repeating: "x", count: 199)
    let error = await failure { () throws(StorageError) in
      try await connect(to: path)(Line("change"))
    }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains(path) == true)
  }

  @Test(arguments: ["", "/tmp/s\0/t"])
  func `because its path is not valid, the error is badRequest`(path: String) async {
    let error = await failure { () throws(StorageError) in
      try await connect(to: path)(Line("change"))
    }
    #expect(error?.code == .badRequest)
  }

  @Test(arguments: [
    ("/run/user/1/kist/kist.sock", ["/run/systemd/system"], "kistd --detach"),
    ("/run/user/1/kist/kist.sock", ["/usr/lib/systemd/user/kistd.socket"], "kistd --detach"),
    (
      "/run/user/1/kist/kist.sock",
      ["/run/systemd/system", "/usr/lib/systemd/user/kistd.socket"],
      "systemctl --user start kistd.socket"
    ),
    (
      "/run/user/1/kist/kist.sock",
      ["/run/systemd/system", "/home/a/.config/systemd/user/kistd.socket"],
      "systemctl --user start kistd.socket"
    ),
    (
      "/tmp/it's here", ["/run/systemd/system", "/usr/lib/systemd/user/kistd.socket"],
      #"kistd --detach --socket '/tmp/it'\''s here'"#
    ),
  ])
  func `the command that starts a daemon fits the machine`(
    path: String, files: [String], command: String
  ) {
    let environment = ["XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/a"]
    let found = startCommand(
      for: path, environment: { environment[$0] }, exists: { files.contains($0) })
    #expect(found == command)
  }

  @Test func `the command names a socket that a variable names, which may be set for one command`()
  {
    let environment = ["KIST_SOCKET": "/tmp/s", "HOME": "/home/a"]
    let found = startCommand(
      for: "/tmp/s", environment: { environment[$0] }, exists: { _ in false })
    #expect(found == "kistd --detach --socket /tmp/s")
  }
}
