"""A keyring with unencrypted values, of which GLib leaves copies in memory."""

import subprocess
import sys

from frame.context import TORTURE
from scan.memory import scan
from scan.served import Served

sys.path.append(str(TORTURE.parent.parent / "Benchmarks"))
from driver.keyring import Keyring  # noqa: E402

PROVIDER = TORTURE.parent / "KistKeyrings/Mock/provider.py"
SIZE = 10_000


class UnencryptedKeyring(Keyring):
    def _start_provider(self):
        command = ["/usr/bin/python3", "-B", PROVIDER, self.folder / "items", self.folder / "calls", "plain-only"]
        provider = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.processes.append(provider)
        provider.stdout.readline()


def look(row, context):
    """Measures the remains, which kist does not promise to avoid. A scan must find them, as they are in freed memory."""
    folder = context.folder / "plain"
    folder.mkdir()
    keyring = UnencryptedKeyring(folder)
    keyring.start()
    try:
        with Served(context, "plain-kistd", storage="libsecret", DBUS_SESSION_BUS_ADDRESS=keyring.address) as served:
            with served.kistd.connect() as connection:
                secret = served.marks.secret(SIZE).decode()
                for request in ({"op": "save", "secret": secret}, {"op": "load"}, {"op": "delete"}):
                    row.tries += 1
                    if not (reply := connection.ask(service="plain", **request))["ok"]:
                        row.wrong.append(f"a {request['op']} received {reply}")
            remains, = scan(served.pid, served.marks)
    finally:
        keyring.stop()
    row.note = f"GLib leaves {len(remains)} pieces of a secret of {SIZE:,} bytes, which kist does not promise to avoid"
    if not remains:
        row.wrong.append("the scan found none of the remains of GLib")
