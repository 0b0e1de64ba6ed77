import Foundation
import KistTesting
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A place that kistd cannot use` {
  @Test(
    arguments: [
      ("chmod 755 ~/.local/state/kist", "`chmod 700 HOME/.local/state/kist`"),
      ("chmod 777 ~/.local/state/kist", "`chmod 700 HOME/.local/state/kist`"),
      ("chmod 000 ~/.local/state/kist", "`chmod 700 HOME/.local/state/kist`"),
      ("chmod 600 ~/.local/state/kist", "`chmod 700 HOME/.local/state/kist`"),
      ("chmod 000 ~/.local/share/kist", "`chmod 700 HOME/.local/share/kist`"),
      ("chmod 500 ~/.local/state/kist", "`chmod 700 HOME/.local/state/kist`"),
      ("chmod 500 ~/.local/share/kist", "`chmod 700 HOME/.local/share/kist`"),
      ("chmod 400 ~/.local/share/kist/credentials.db", "`chmod 600 HOME/.local/share/kist/cred"),
      ("rm -r ~/.local; chmod 500 ~", "make HOME writable for kistd"),
      ("mkdir ~/.local/state/kist/kistd.log", "move it away"),
      ("ln -s /dev/null ~/.local/state/kist/kistd.log", "replace the link"),
      ("rm -r ~/.local/state/kist; touch ~/.local/state/kist", "move the file away"),
      ("rm -r ~/.local; mkdir -p ~/.local/state; touch ~/.local/state/kist", "move the file away"),
      ("rm -r ~/.local; touch ~/.local", "move the file away"),
      ("rm -r ~/.local/share/kist; touch ~/.local/share/kist", "move the file away"),
      (
        "printf s | kistd -- kist save a; rm -r ~/.local/share/kist; touch ~/.local/share/kist",
        "move the file away"
      ),
      ("mkdir ~/.local/state/kist/kist.sock.lock", "move it away"),
      (
        "touch ~/.local/state/kist/kist.sock.lock; chmod 400 ~/.local/state/kist/kist.sock.lock",
        "`chmod 600 "
      ),
      (
        "chmod 400 ~/.local/share/kist/credentials.db.lock",
        "`chmod 600 HOME/.local/share/kist/credentials.db.lock`"
      ),
      (
        "rm ~/.local/share/kist/credentials.db; chmod 400 ~/.local/share/kist/credentials.db.lock",
        "`chmod 600 HOME/.local/share/kist/credentials.db.lock`"
      ),
      ("touch ~/.local/state/kist/kist.sock", "move it away"),
      (
        "mv ~/.local/share/kist/credentials.db ~/c; ln -s ~/c ~/.local/share/kist/credentials.db",
        "replace the link"
      ),
      ("rm ~/.local/state/kist/key", "put it back, then run `kist unlock`"),
      ("head -c 32 /dev/zero > ~/.local/state/kist/key", "right one: `--key-file PATH`"),
    ])
  func `is a problem for kist, probe and doctor, with the same hint`(
    fault: String, hint: String
  ) async throws {
    try await expectSameHint(hint, after: fault)
  }

  @Test(
    .needsRoot("to give a file away and to mount"),
    arguments: [
      (
        "chown 61234 ~/.local/state/kist/key",
        "it belongs to another user: move it away, or `chown` it to the user of kistd"
      ),
      (
        "cd ~/.local/share/kist; chmod 644 credentials.db; chown 61234 credentials.db",
        "`chown` it to the user of kistd"
      ),
      (
        "cd ~/.local/share/kist; mount --bind credentials.db credentials.db; "
          + "mount -o remount,bind,ro credentials.db",
        "make its file system writable, or copy the store to another one"
      ),
      (
        "mount --bind ~/.local/share/kist ~/.local/share/kist; "
          + "mount -o remount,bind,ro ~/.local/share/kist",
        "kistd must be able to write it; `--data` and `--key-file` name other places"
      ),
      (
        "chown 61234 ~/.local; chmod 700 ~/.local",
        "give it to your user: `sudo chown -R \"$(id -un)\" HOME/.local`"
      ),
    ])
  func `of another user, or on a read-only mount, has the same hint in kist, probe and doctor`(
    fault: String, hint: String
  ) async throws {
    try await expectSameHint(hint, after: fault, startedBy: ["unshare", "--mount"])
  }

  @Test func `that is only not writable is refused by kistd and probe with the command that helps`()
    async throws
  {
    try await withHome { home in
      let script = """
        obeying="setpriv --bounding-set=-all"; [ "$(id -u)" = 0 ] || obeying=
        mkdir -m 700 ~/run/kist; touch ~/run/kist/kist.sock.lock; chmod 500 ~/run/kist
        for words in "kistd" "kistd probe"; do $obeying $words 2>&1; echo "status $?"; done
        chmod 700 ~/run/kist
        """
      let end = try await command("sh", ["-c", script], in: home)
      let parts = end.output.split(separator: "status 6\n")
      #expect(parts.count == 2, "\(end.output)")
      #expect(parts.allSatisfy { $0.contains("`chmod 700 \(home.runtime)/kist`") }, "\(parts)")
    }
  }

  @Test(arguments: [
    "mkdir ~/.local/state/kist/kistd.log", "rm -r ~/.local/state; touch ~/.local/state",
  ])
  func `of the kistd that kist starts is also found by probe without an option`(
    fault: String
  ) async throws {
    try await withHome { home in
      let script = "kistd -- true; \(fault); kistd probe"
      let end = try await command("sh", ["-c", script], in: home)
      #expect(end.status != .exited(0), "\(end.output)")
      #expect(end.output.hasPrefix("storage: cannot be opened\n"), "\(end.output)")
    }
  }

  @Test(.needsRoot("to give a directory away"), arguments: ["700", "755"])
  func `in an XDG_RUNTIME_DIR of another user is left alone, and the hint names this variable`(
    mode: String
  ) async throws {
    try await withHome { home in
      var home = home
      home.startsKistd = true
      // Root may enter any directory, so another user runs the programs, except in the second case.
      let script = """
        mkdir ~/foreign; export XDG_RUNTIME_DIR="$HOME/foreign"; chmod \(mode) ~/foreign
        if [ \(mode) = 700 ]; then
          chown 61234 ~; as="setpriv --reuid=61234 --clear-groups"
        else
          chown 61234 ~/foreign; as=
        fi
        for words in "kistd probe" "kist doctor" "kist list" "kist status" "kistd" \
          "env KIST_AUTOSTART=0 kist list"
        do
          $as $words 2>&1; echo "status $?"
        done
        find ~/foreign -mindepth 1
        """
      let end = try await command("sh", ["-c", script], in: home)
      let parts = end.output.split(separator: "status 6\n")
      let fault = "XDG_RUNTIME_DIR names \(home.path)/foreign, which belongs to another user"
      #expect(parts.count == 6, "\(end.output)\(end.error)")
      #expect(parts.allSatisfy { $0.contains(fault) && $0.contains("`unset XDG_RUNTIME_DIR`") })
    }
  }

  @Test(.needsRoot("to be another user"))
  func `in a directory of root has the same hint in kistd, probe and fsck`() async throws {
    try await withHome { home in
      let script = """
        options="--data $HOME/store --key-file $HOME/key"
        printf s | kistd $options -- kist save a; unset XDG_RUNTIME_DIR
        rm ~/store/*.lock; chown -R 61234 ~; chown 0 ~/store; chmod 755 ~/store
        for words in "kistd" "kistd probe" "kistd fsck"; do
          setpriv --reuid=61234 --clear-groups $words $options 2>&1; echo "status $?"
        done
        """
      let end = try await command("sh", ["-c", script], in: home)
      let parts = end.output.split(separator: "status 6\n")
      let hint = "`chown` it to the user of kistd, or use another one"
      #expect(parts.count == 3 && parts.allSatisfy { $0.contains(hint) }, "\(end.output)")
    }
  }

  @Test(.needsRoot("to be another user")) func `in a missing home has a hint that names HOME`()
    async throws
  {
    try await withHome { home in
      var home = home
      home.startsKistd = true
      let script = """
        for words in "kistd probe --detach" "kist doctor" "kist list"; do
          env HOME=/none/here setpriv --reuid=61234 --clear-groups $words 2>&1; echo "status"
        done
        setpriv --reuid=61234 --clear-groups kistd --data /srv/kist -- true 2>&1
        """
      let end = try await command("sh", ["-c", script], in: home)
      let parts = end.output.split(separator: "status\n")
      let hint = "set HOME to a directory that belongs to you"
      #expect(parts.count == 4, "\(end.output)")
      #expect(parts.dropLast().allSatisfy { $0.contains(hint) }, "\(end.output)")
      #expect(parts.last?.contains("hint: let this user write to /srv, or ") == true)
    }
  }

  @Test(arguments: ["HOME", "CREDENTIALS_DIRECTORY"])
  func `with a relative path is refused with the name of its variable`(variable: String)
    async throws
  {
    try await withHome { home in
      let end = try await command(
        "sh", ["-c", "cd; mkdir here; touch here/kist.key; env \(variable)=here kistd --detach"],
        in: home)
      #expect(end.status == .exited(64))
      #expect(end.error.contains("needs an absolute path in \(variable)\n"), "\(end.error)")
    }
  }

  @Test func `in a missing XDG_RUNTIME_DIR has a hint that names this variable`() async throws {
    try await withHome { home in
      var home = home
      home.startsKistd = true
      let script = """
        obeying="setpriv --bounding-set=-all"; [ "$(id -u)" = 0 ] || obeying=
        mkdir -m 500 ~/none; export XDG_RUNTIME_DIR="$HOME/none/7"
        for words in "kist list" "kistd probe" "kist doctor" "env KIST_AUTOSTART=0 kist list"; do
          $obeying $words 2>&1; echo "status"
        done
        """
      let end = try await command("sh", ["-c", script], in: home)
      let parts = end.output.split(separator: "status\n")
      let hint = "XDG_RUNTIME_DIR names \(home.path)/none/7, which does not exist"
      #expect(parts.count == 4 && parts.allSatisfy { $0.contains(hint) }, "\(end.output)")
    }
  }
}

/// Expects one status and one hint of `kistd probe`, `kist doctor` and `kist list` after a shell
/// command spoiled a place of kistd.
///
/// - Parameter starter: the command that starts the shell, with its arguments.
private func expectSameHint(
  _ hint: String, after fault: String, startedBy starter: [String] = []
) async throws {
  try await withHome { home in
    var home = home
    home.startsKistd = true
    // The socket is in the state directory. Without its capabilities, root obeys the modes.
    let script = """
      export XDG_RUNTIME_DIR="$HOME/.local/state"
      kistd -- true; rm -rf "$HOME/run"; \(fault)
      obeying="setpriv --bounding-set=-all"; [ "$(id -u)" = 0 ] || obeying=
      for words in "kistd probe --detach" "kist doctor" "kist list"; do
        $obeying $words 2>&1; echo "status $?"
      done
      kill "$(head -n 1 "$XDG_RUNTIME_DIR/kist/kist.sock.lock")"
      chmod -R u+rwX ~
      """
    let end = try await command("env", starter + ["sh", "-c", script], in: home)
    let said = end.output.split(separator: /status [0-9]+\n/)
    let statuses = end.output.split(separator: "\n").filter { $0.hasPrefix("status ") }
    #expect(statuses.count == 3 && statuses[0] != "status 0", "\(end.output)\(end.error)")
    #expect(statuses.allSatisfy { $0 == statuses.first }, "\(end.output)\(end.error)")
    #expect(end.output.contains("\nproblem\tstorage\t"), "\(end.output)")
    let advice = hint.replacing("HOME", with: home.path)
    #expect(said.allSatisfy { $0.contains(advice) }, "\(end.output)")
  }
}
