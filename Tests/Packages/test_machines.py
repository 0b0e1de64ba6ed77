"""The recipes of docs/many-machines.md, as they are written there, with real sshd, age and Ansible. Needs root (`make test-dist`)."""

import hashlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from bare import DIST, blocks

PAGE = "many-machines.md"
SECRET = "hunter2-of-web"
PASSPHRASE = "correct horse battery staple"
(PROGRAMS,) = DIST.glob("kist-*/bin")
# Shows each write in full, with the path of the file or the kind of the descriptor.
STRACE = ["strace", "-f", "-qq", "-yy", "-s", str(1 << 20), "-e", "trace=write,pwrite64,writev"]
PATH = f"{PROGRAMS}:/usr/local/bin:/usr/bin:/bin:/usr/sbin"


class Machine:
    """A machine with its own /root and /run, which shares everything else with this one."""

    def __init__(self):
        self.home = Path(tempfile.mkdtemp())
        script = f"mount --bind {self.home} /root; mount -t tmpfs tmpfs /run; mkdir /run/sshd; echo; exec sleep infinity"
        self.started = [subprocess.Popen(["unshare", "--mount", "sh", "-ec", script], stdout=subprocess.PIPE)]
        self.started[0].stdout.readline()

    def words(self, words):
        environment = ["env", "--ignore-environment", "--chdir=/root", "HOME=/root", "LANG=C.UTF-8", f"PATH={PATH}"]
        return ["nsenter", "--mount", "--target", str(self.started[0].pid), *environment, *words]

    def run(self, script, input=""):
        return subprocess.run(self.words(["bash", "-ec", script]), input=input, capture_output=True, text=True, timeout=120)

    def shell(self, script, input=""):
        end = self.run(script, input)
        assert end.returncode == 0, f"{script}: {end.returncode}: {end.stdout}{end.stderr}"
        return end.stdout

    def start(self, *words):
        process = subprocess.Popen(self.words(words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(process)
        return process

    def start_kistd(self):
        kistd = self.start("kistd")
        self.shell("until kist status; do sleep 0.05; done >/dev/null 2>&1")
        return kistd

    def end(self):
        for process in reversed(self.started):
            process.terminate()
            process.wait()
        self.started[0].stdout.close()
        shutil.rmtree(self.home)

    def holds(self, text):
        return [str(file) for file in self.home.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


class Recipes(unittest.TestCase):
    def setUp(self):
        self.admin = self.machine()
        self.admin.start_kistd()
        self.admin.shell("mkdir -m 700 .ssh; ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519")

    def machine(self):
        machine = Machine()
        self.addCleanup(machine.end)
        return machine

    def server(self, name):
        """Starts a machine with an sshd, to which the admin can connect by this name."""
        server = self.machine()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server.shell("ssh-keygen -q -t ed25519 -N '' -f host; mkdir -m 700 .ssh; cat > .ssh/authorized_keys",
                     (self.admin.home / ".ssh/id_ed25519.pub").read_text())
        (server.home / "sshd").write_text(
            f"ListenAddress 127.0.0.1:{port}\nHostKey /root/host\nPidFile none\nUsePAM no\nStrictModes no\n"
            f"PermitRootLogin yes\nSetEnv PATH={PATH}\nSubsystem sftp /usr/lib/openssh/sftp-server\n")
        # nsenter and env become the sshd, so that this is its process.
        server.sshd = server.start("/usr/sbin/sshd", "-D", "-f", "/root/sshd")
        with (self.admin.home / ".ssh/config").open("a") as config:
            config.write(f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  StrictHostKeyChecking no\n  LogLevel ERROR\n")
        self.admin.shell(f"until ssh {name} true; do sleep 0.05; done 2>/dev/null")
        return server

    def test_a_push_over_ssh(self):
        servers = {name: self.server(name) for name in ["web1", "web2"]}
        key, save, push = blocks(PAGE, "Push over SSH", "sh")
        for name in servers:
            self.admin.shell(key.replace("web1", name))
        self.admin.shell("kist save db.example app", SECRET)
        self.admin.shell(save)
        self.admin.shell("kist save other", "not for servers")
        for server in servers.values():
            server.start_kistd()
            server.shell("kist save db.example app", "old")
        self.admin.shell(push)
        revisions = {}
        for name, server in servers.items():
            self.assertEqual(server.shell("kist load db.example app"), SECRET)
            self.assertEqual(server.shell("kist list").count("\n"), 1)
            self.assertEqual(server.holds(SECRET), [])
            revisions[name] = server.shell("kist list --json")
        self.assertEqual(self.admin.holds(SECRET), [])
        # Another run changes nothing, and a change arrives.
        self.admin.shell(push)
        self.assertEqual(revisions, {name: server.shell("kist list --json") for name, server in servers.items()})
        self.admin.shell("kist save db.example app", "new")
        self.admin.shell(push)
        self.assertEqual(servers["web2"].shell("kist load db.example app"), "new")
        # A failure on a server, or of the export, ends the script with an error.
        servers["web2"].shell("mv .config/kist.age .config/moved")
        self.assertNotEqual(self.admin.run(push).returncode, 0)
        servers["web2"].shell("mv .config/moved .config/kist.age")
        (self.admin.home / "servers/web1.pub").write_text("nonsense\n")
        self.assertNotEqual(self.admin.run(push).returncode, 0)
        # Only the server can decrypt what was made for it.
        self.admin.shell("kist export --encrypt servers/web2.pub out && scp -q out web1:")
        self.assertNotEqual(servers["web1"].run("age --decrypt --identity .config/kist.age out").returncode, 0)
        self.assertIn("db.example", servers["web2"].shell(f"age --decrypt --identity .config/kist.age < {self.admin.home}/out"))

    def test_a_backup_as_a_portable_store(self):
        open_it, restore = blocks(PAGE, "A backup as a portable store", "sh")
        self.admin.shell("kist save db.example app", SECRET)
        self.admin.shell("kist backup web.kist", PASSPHRASE + "\n")
        server = self.machine()
        shutil.copy(self.admin.home / "web.kist", server.home)
        (server.home / "passphrase").write_text(PASSPHRASE + "\n")
        (server.home / "serve").write_text('#!/bin/sh\nprintf %s "$PASSWORD" | sha256sum\n')
        server.shell("chmod 755 serve")
        digest = hashlib.sha256(SECRET.encode()).hexdigest()
        self.assertEqual(server.shell(open_it).split()[0], digest)
        server.shell(restore)
        server.start_kistd()
        self.assertEqual(server.shell("kist load db.example app"), SECRET)
        self.assertEqual(server.holds(SECRET), [])

    def test_ansible(self):
        """With pipelining, the secret is in no file; without it, in files, as the page says."""
        server = self.server("web1")
        server.start_kistd()
        self.admin.shell("kist save db.example app", SECRET)
        (playbook,) = blocks(PAGE, "Ansible", "yaml")
        (self.admin.home / "play.yml").write_text(playbook)
        (self.admin.home / "hosts").write_text("[web]\nweb1\n")
        for pipelining in [True, False]:
            (self.admin.home / "ansible.cfg").write_text(
                f"[defaults]\ninventory = hosts\n[ssh_connection]\nssh_args = -o ControlMaster=no\npipelining = {pipelining}\n")
            trace = server.home / "trace"
            tracer = subprocess.Popen(
                [*STRACE, "-o", trace, "-p", str(server.sshd.pid)], stderr=subprocess.DEVNULL)
            while b"TracerPid:\t0\n" in Path(f"/proc/{server.sshd.pid}/status").read_bytes():
                time.sleep(0.01)
            end = self.admin.run(" ".join([*STRACE, "-o trace ansible-playbook -vvv play.yml"]))
            tracer.terminate()
            tracer.wait()
            self.assertEqual(end.returncode, 0, end.stdout + end.stderr)
            self.assertNotIn(SECRET, end.stdout + end.stderr)
            self.assertEqual(server.shell("kist load db.example app"), SECRET)
            self.assertTrue(secret_writes(trace), "the trace shows the secret on its way")
            for file in [trace, self.admin.home / "trace"]:
                self.assertEqual(file_writes(file) == [], pipelining, file)


def secret_writes(trace):
    return [line for line in trace.read_text(errors="replace").splitlines() if SECRET in line]


def file_writes(trace):
    """Returns the writes of the secret to a file, rather than to a pipe, a socket or a terminal."""
    return [line for line in secret_writes(trace) if re.search(r"\(\d+</(?!dev/)", line)]


if __name__ == "__main__":
    unittest.main()
