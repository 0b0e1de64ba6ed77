"""gnome-keyring on its own bus, with a keyring that has a password."""

import os
import subprocess

from .processes import wait

CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={folder}/bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


class Keyring:
    def __init__(self, folder):
        self.folder = folder / "keyring"
        self.address = f"unix:path={self.folder}/bus"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder),
            "XDG_DATA_HOME": str(self.folder / "data"), "XDG_RUNTIME_DIR": str(self.folder),
            "DBUS_SESSION_BUS_ADDRESS": self.address,
        }
        self.processes = []

    def start(self):
        self.folder.mkdir(mode=0o700)
        configuration = self.folder / "bus.conf"
        configuration.write_text(CONFIGURATION.format(folder=self.folder))
        self._start(["dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile"])
        wait("the bus", lambda: (self.folder / "bus").exists())
        self._start_provider()

    def _start_provider(self):
        keyring = self._start(["gnome-keyring-daemon", "--foreground", "--unlock",
                               "--components=secrets"], stdin=subprocess.PIPE)
        keyring.stdin.write(b"password")
        keyring.stdin.close()
        wait("the keyring", self._has_collection)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=60)

    def _start(self, command, **options):
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def _has_collection(self):
        reply = subprocess.run(
            ["gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path",
             "/org/freedesktop/secrets", "--method", "org.freedesktop.Secret.Service.ReadAlias",
             "default"], env=self.environment, capture_output=True, text=True, check=False)
        return "collection" in reply.stdout
