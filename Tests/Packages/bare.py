"""Bare Debian systems that have kist from the tarball, and the code blocks of the documentation."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIST = ROOT / ".build-release/dist"
HOMES = {"root": "/root", "alice": "/home/alice"}


def tarball():
    (file,) = DIST.glob("kist-*.tar.gz")
    return file


def blocks(page, heading, language):
    """Returns the code blocks of a language below a heading of a page."""
    section = (ROOT / "docs" / page).read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def environment(user, folder=None, variables={}):
    """Returns the words that run a command in the environment of a user."""
    values = {"HOME": HOMES[user], "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"} | variables
    return ["env", "--ignore-environment", f"--chdir={folder or HOMES[user]}"] + [f"{n}={v}" for n, v in values.items()]


class System:
    """A tree of scripts/systemd-tree that runs one command after another. Changes to it are discarded at the end."""

    def __init__(self, tree):
        self.tree = tree
        self.folder = Path(tempfile.mkdtemp())
        # The files that the system has in addition to the tree, and those that its commands change.
        self.files = self.folder / "files"
        for name in ["files", "work", "root"]:
            (self.folder / name).mkdir(mode=0o755)

    def end(self):
        shutil.rmtree(self.folder)

    def put(self, path, content, mode=0o644, user="root"):
        """Creates a file of a user, with its directories."""
        content = content if isinstance(content, bytes) else content.encode()
        self.shell(f"mkdir -p $(dirname {path}); cat > {path}; chmod {mode:o} {path}", user=user, input=content)

    def words(self, words, user="root", folder=None, variables={}, mounts="", read_only=False):
        """Returns the words that run a command with its own processes and network; `mounts` is a script that may mount more."""
        script = f"""
            mount -t overlay overlay -o lowerdir={self.tree},upperdir={self.files},workdir={self.folder}/work {self.folder}/root
            cd {self.folder}/root
            mount -t proc proc proc
            mount --rbind /dev dev
            mount -t tmpfs tmpfs run
            {mounts}
            {"mount -o remount,ro ." if read_only else ""}
            exec chroot . setpriv --reuid {user} --regid {user} --init-groups "$@"
            """
        return [
            "unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child", "bash", "-ec", script, "bash",
            *environment(user, folder, variables), *words]

    def run(self, words, input=b"", **options):
        """Runs a command, which `words` describes."""
        end = subprocess.run(self.words(words, **options), input=input, capture_output=True, timeout=120)
        return subprocess.CompletedProcess(words, end.returncode, end.stdout.decode(), end.stderr.decode())

    def shell(self, script, status=0, **options):
        """Runs a script, which must exit with a status; returns its output."""
        end = self.run(["bash", "-ec", script], **options)
        assert end.returncode == status, f"{script}: {end.returncode}: {end.stdout}{end.stderr}"
        return end.stdout

    def holds(self, text):
        """Returns the files of the system that contain a text, except those of the tree."""
        return [
            str(file.relative_to(self.files)) for file in self.files.rglob("*")
            if file.is_file() and not file.is_symlink() and text.encode() in file.read_bytes()]


class Login:
    """A system whose users are logged in. What they start runs until the end of the login."""

    def __init__(self, system):
        self.process = subprocess.Popen(
            system.words(["sh", "-c", "echo; exec cat"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.first = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().strip()

    def words(self, words, user, variables={}):
        """Returns the words that run a command as a user, as `Machine.words` does."""
        return [
            "/usr/bin/nsenter", f"--target={self.first}", "--mount", "--pid", "--net", "--ipc", "--root", "setpriv",
            "--reuid", user, "--regid", user, "--init-groups", *environment(user, variables=variables), *words]

    def end(self):
        # All processes end with the first one, which ends with its input.
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
