"""An application of Flatpak, whose secrets are in a file that it encrypts with a key in kist, through the Secret portal.

These tests run in Debian 13 (`make test-keyring-programs`). libsecret 0.20 of Debian 12 sometimes misses the answer of the
portal, and waits forever: it listens only after the portal's reply, and kist answers before that.
"""

import re
import shutil
import subprocess
from pathlib import Path

from secret_service import ServiceTest, ServiceWorld
from world import needs

APPLICATION = "org.example.App"
RUNTIME = "org.example.Platform"
PORTAL = Path("/usr/libexec/xdg-desktop-portal")


class PortalWorld(ServiceWorld):
    """The session bus also starts xdg-desktop-portal, which uses kist."""

    def start_bus(self, services):
        self.env |= {
            "XDG_DESKTOP_PORTAL_DIR": f"{self.home}/.local/share/xdg-desktop-portal/portals", "XDG_CURRENT_DESKTOP": "kist",
            # flatpak asks the system bus for the parental controls.
            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.home}/bus",
        }
        super().start_bus(services)


@needs("flatpak")
@needs("xdg-desktop-portal", where=PORTAL.exists())
@needs("secret-tool")
class Flatpak(ServiceTest):
    """secret-tool as an application: in a sandbox, libsecret asks the portal, and no keyring."""

    key = ("org.freedesktop.portal.Secret", APPLICATION)
    words = ["service", "example.org", "username", "alice"]

    def setUp(self):
        self.world = PortalWorld()
        self.addCleanup(self.world.end)
        self.install()

    def install(self):
        """Installs the application with a runtime that has this program and its libraries, from a repository of their own."""
        runtime, application, repository = (self.world.home / name for name in ["runtime", "application", "repository"])
        program = Path(shutil.which("secret-tool"))
        linked = subprocess.check_output(["ldd", program], text=True)
        # In the sandbox, /bin, /lib and /lib64 are links to the same names in /usr.
        for path in [program, *map(Path, re.findall(r"(/\S+) \(0x", linked))]:
            copy = runtime / "files" / str(path).removeprefix("/usr").lstrip("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        (application / "files").mkdir(parents=True)
        (application / "export").mkdir()
        names = f"runtime={RUNTIME}/x86_64/1\nsdk={RUNTIME}/x86_64/1\n"
        (runtime / "metadata").write_text(f"[Runtime]\nname={RUNTIME}\n{names}")
        (application / "metadata").write_text(f"[Application]\nname={APPLICATION}\ncommand=secret-tool\n{names}")
        self.run_("flatpak", "build-export", "--disable-sandbox", "--runtime", "--files=files", repository, runtime, "1")
        self.run_("flatpak", "build-export", "--disable-sandbox", repository, application)
        self.run_("flatpak", "--user", "remote-add", "--no-gpg-verify", "here", repository)
        self.run_("flatpak", "--user", "install", "--noninteractive", "here", APPLICATION)

    def tool(self, action, *words, **options):
        return self.run_("flatpak", "run", APPLICATION, action, *words, *self.words, **options).stdout

    def store(self, secret, **options):
        self.tool("store", "--label=x", input=secret, **options)

    def test_stores_finds_replaces_and_deletes_a_secret(self):
        self.store("hunter2")
        self.assertEqual(self.tool("lookup"), "hunter2")
        self.assertEqual(self.world.credentials(), [self.key])
        self.store("swordfish")
        self.assertEqual(self.tool("lookup"), "swordfish")
        self.tool("clear")
        self.assertEqual(self.tool("lookup", fails=True), "")

    def test_finds_the_secret_after_a_restart_and_not_while_kist_is_locked(self):
        self.store("hunter2")
        self.world.restart()
        self.assertEqual(self.tool("lookup"), "hunter2")
        self.world.lock()
        self.assertEqual(self.tool("lookup", fails=True), "")
        self.store("swordfish", fails=True)
        self.world.unlock()
        self.assertEqual(self.tool("lookup"), "hunter2")
        self.assertEqual(self.world.credentials(), [self.key])
