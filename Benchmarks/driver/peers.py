"""The tools that kist is compared with, each with its usual setup, in its own place."""

import os
import shutil
import subprocess

from . import programs, requests
from .processes import wait

PYTHON = "/usr/bin/python3"
SECRET = "correct horse battery staple 0000001"


class Peers:
    def __init__(self, folder, keyring):
        self.folder, self.keyring = folder, keyring
        self.agent = None
        self.agent_socket = folder / "agent.sock"
        home = folder / "pass"
        # gpg-agent's socket is in the home of gpg, and its path can have 107 bytes.
        self.pass_environment = {"PATH": os.environ["PATH"], "HOME": str(home),
                                 "GNUPGHOME": str(home / "gpg"), "PASSWORD_STORE_DIR": str(home / "store")}
        self.agent_environment = {"PATH": os.environ["PATH"], "SSH_AUTH_SOCK": str(self.agent_socket)}
        self.git_helper = folder / programs.GIT_HELPER.stem
        self.request, self.secret = folder / "request", folder / "secret"

    def start(self):
        # The input of git to a helper, for an existing credential, and a secret to save.
        self.request.write_text("protocol=https\nhost=git.example.org\n")
        self.secret.write_text(SECRET)
        self._start_agent()
        self._make_password_store()
        self._run(self.python_command("save", 10), self.keyring.environment)
        if self.git_helper.exists():
            stored = f"{self.request.read_text()}username=alice\npassword={SECRET}\n"
            self._run([self.git_helper, "store"], self.keyring.environment, stored)

    def stop(self):
        if self.agent:
            self.agent.kill()
            self.agent.wait()
        if os.path.isdir(self.pass_environment["GNUPGHOME"]):
            self._run(["gpgconf", "--kill", "all"], self.pass_environment)

    def _start_agent(self):
        self.agent = subprocess.Popen(["ssh-agent", "-D", "-a", self.agent_socket],
                                      stdout=subprocess.DEVNULL)
        key = self.folder / "agent-key"
        self._run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], self.agent_environment)
        wait("ssh-agent", self.agent_socket.exists)
        self._run(["ssh-add", "-q", key], self.agent_environment)

    def _make_password_store(self):
        """Creates a store of pass, with its own key without a passphrase."""
        os.makedirs(self.pass_environment["GNUPGHOME"], mode=0o700)
        for command in (["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key",
                         "bench", "default", "default", "never"], ["pass", "init", "bench"]):
            self._run(command, self.pass_environment)
        self._run(self.insert_command(), self.pass_environment, SECRET)

    @staticmethod
    def python_command(operation, count):
        """Starts Python's keyring in a long-running process, with ten credentials."""
        return [PYTHON, programs.SOURCES / "peers" / "python_keyring.py", operation, count, 10]

    @staticmethod
    def insert_command():
        return [shutil.which("pass"), "insert", "--multiline", "--force", "service-1/alice"]

    @staticmethod
    def show_command():
        return [shutil.which("pass"), "show", "service-1/alice"]

    @staticmethod
    def key_words():
        """Returns the attributes of a credential, as arguments of `secret-tool`."""
        return [word for pair in requests.key(1).items() for word in pair]

    @staticmethod
    def _run(command, environment, given=""):
        subprocess.run([str(word) for word in command], env=environment, input=given, text=True,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
