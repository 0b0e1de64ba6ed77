"""Booted Debian systems."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = {"root": (0, "/root"), "alice": (1000, "/home/alice"), "bob": (1001, "/home/bob")}


class Machine:
    """A booted root directory from scripts/systemd-tree. Its changes are discarded at the end."""

    def __init__(self, tree):
        self.process = subprocess.Popen(
            [ROOT / "scripts/systemd-machine", tree], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.leader = self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def words(self, words, user, variables={}):
        """Returns the words that run a command as a user."""
        number, home = PLACES[user]
        values = {"HOME": home, "USER": user, "LANG": "C.UTF-8", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        if number:
            values["XDG_RUNTIME_DIR"] = f"/run/user/{number}"
            values["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path=/run/user/{number}/bus"
        return [
            "/usr/bin/nsenter", "--target", self.leader, "--all", "--", "setpriv", "--reuid", user, "--regid", user, "--init-groups",
            "env", "--ignore-environment", f"--chdir={home}", *[f"{name}={value}" for name, value in (values | variables).items()],
            *words]

    def shell(self, script, user="root", status=0):
        """Runs a script that must exit with a status; returns its output."""
        end = subprocess.run(
            self.words(["timeout", "60", "bash", "-c", script], user), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert end.returncode == status, f"{script}: {end.returncode}: {end.stdout}{end.stderr}"
        return end.stdout.strip()

    def files(self):
        """Returns all files, except those that any package installation changes and those of users."""
        passed = ["/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/var/log", "/var/cache", "/var/lib/dpkg", "/kist",
                  "/home", "/var/lib/systemd"]
        prune = " -o ".join(f"-path {path}" for path in passed)
        found = self.shell(f"find / \\( {prune} \\) -prune -o ! -type d -print")
        state = self.shell("find /var/lib/systemd /var/lib/dpkg/info \\( -name '*deb-systemd*' -o -name 'kist*' \\) ! -type d")
        return set(found.splitlines()) | set(state.splitlines())
