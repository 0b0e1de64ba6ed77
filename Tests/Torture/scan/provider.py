"""The memory of kist-secret-service after calls of programs on the bus."""

import subprocess
import time

from frame.provider import DEFAULT, IN_MEMORY, ROOT, Program, Provider, Refused
from scan.memory import scan
from scan.served import Served

SIZES = (20, 100, 3000, 100_000)
# As kistd: the longest secret is 512 KiB.
TOO_LARGE = (512 << 10) + 1
ITEM, COLLECTION, SERVICE = (f"org.freedesktop.Secret.{name}" for name in ("Item", "Collection", "Service"))
PATIENCE = 5


def look(row, context):
    with Served(context, "provider") as served:
        provider = Provider(context.binaries / "kist-secret-service", served.kistd)
        provider.start_bus()
        provider.start()
        try:
            with Program(provider.address) as program:
                program.open_session()
                # To show that a scan works, an item in memory holds a secret.
                held = program.create(served.held.secret(200), {"held": "1"}, where=IN_MEMORY)
                watch = Watch(row, served, provider, held)
                after_calls(watch, program, context.random("provider"))
                after_refusals(watch, program)
                program.delete(held)
                watch.held = None
                watch.look("the item in memory was deleted")
            after_libsecret(watch, provider)
        finally:
            provider.stop()


class Watch:
    """Scans kist-secret-service for secrets."""

    def __init__(self, row, served, provider, held):
        self.row, self.served, self.provider, self.held = row, served, provider, held
        self.secret = served.marks.secret
        # The secrets that were reported; what is left of one is usually left for long.
        self.reported = set()

    def look(self, after):
        end = time.monotonic() + PATIENCE
        while True:
            remains, held = scan(self.provider.process.pid, self.served.marks, self.served.held)
            # A message is released soon after its reply was sent.
            remains = [each for each in remains if each.found.secret not in self.reported]
            if not remains and bool(held) == bool(self.held) or time.monotonic() > end:
                break
            time.sleep(0.01)
        if self.held and not held:
            raise RuntimeError("a scan did not find the secret that kist-secret-service holds")
        if not self.held:
            remains = remains + held
        self.row.tries += 1
        for each in remains:
            if each.found.secret not in self.reported:
                self.reported.add(each.found.secret)
                self.row.wrong.append(f"after {after}: {each}")


def after_calls(watch, program, random):
    for size in SIZES:
        attributes = {"size": str(size)}
        item = program.create(watch.secret(size), attributes)
        watch.look(f"CreateItem of {size} bytes")
        program.create(watch.secret(size), attributes)
        watch.look(f"CreateItem of {size} bytes, in place of another")
        program.set_secret(item, watch.secret(size))
        watch.look(f"SetSecret of {size} bytes")
        program.call(item, ITEM, "GetSecret", "o", (program.session,))
        watch.look(f"GetSecret of {size} bytes")
        program.secrets(program.search(attributes))
        watch.look(f"GetSecrets of {size} bytes")
    for number in range(64):
        program.create(watch.secret(random.choice((20, 100, 700, 5000))), {"number": str(number)})
    watch.look("64 calls of CreateItem")
    program.secrets(program.search({}))
    watch.look("GetSecrets of all items")
    in_memory = program.create(watch.secret(3000), {"a": "b"}, where=IN_MEMORY)
    program.set_secret(in_memory, watch.secret(3000))
    program.secrets([in_memory])
    program.delete(in_memory)
    watch.look("an item in memory was deleted")


def after_refusals(watch, program):
    """Scans after calls with a secret that are refused."""
    text = watch.secret(300).decode()
    properties = {f"{ITEM}.Label": ("s", "x")}

    def create(secret, session=program.session, content_type="text/plain", new=None):
        return (DEFAULT, COLLECTION, "CreateItem", "a{sv}(oayays)b",
                (new or properties, (session, b"", secret, content_type), True))

    for what, call in {
        "a session of no program": create(watch.secret(300), session=f"{ROOT}/session/s9999"),
        "a content type that is too long": create(watch.secret(300), content_type="x" * 2000),
        "a secret that is too long": create(watch.secret(TOO_LARGE)),
        "a reserved attribute": create(watch.secret(300), new={f"{ITEM}.Attributes": ("a{ss}", {"kist:x": "y"})}),
        "an unknown property": create(watch.secret(300), new={"x": ("s", "y")}),
        "a value of another type": create(watch.secret(300), new={f"{ITEM}.Label": ("u", 1)}),
        "an attribute that is too long": create(watch.secret(300), new={f"{ITEM}.Attributes": ("a{ss}", {"x": "y" * 2000})}),
        "other types": (DEFAULT, COLLECTION, "CreateItem", "s", (text,)),
        "an unknown method": (DEFAULT, COLLECTION, "Create", "s", (text,)),
        "an unknown interface": (DEFAULT, "org.example.Nothing", "CreateItem", "s", (text,)),
        "an unknown object": ("/nothing", COLLECTION, "CreateItem", "s", (text,)),
        "an unknown item": (f"{DEFAULT}/i0000000000000000", ITEM, "SetSecret", "(oayays)",
                            (program.sent(watch.secret(3000)),)),
        "an unknown algorithm": (ROOT, SERVICE, "OpenSession", "sv", ("rot13", ("s", text))),
    }.items():
        try:
            program.call(*call)
            watch.row.wrong.append(f"{what} was accepted")
        except Refused:
            pass
        watch.look(f"a refused call: {what}")


def after_libsecret(watch, provider):
    """Scans after calls of secret-tool, which encrypts secrets on the bus."""
    for size in SIZES[:-1]:
        secret = watch.secret(size)

        def run(*words, **more):
            command = ["secret-tool", *words]
            return subprocess.run(command, env=provider.environment, capture_output=True, check=True, **more).stdout

        run("store", "--label=x", "tool", str(size), input=secret)
        watch.look(f"secret-tool store of {size} bytes")
        if run("lookup", "tool", str(size)) != secret:
            watch.row.wrong.append("secret-tool found another secret")
        watch.look(f"secret-tool lookup of {size} bytes")
