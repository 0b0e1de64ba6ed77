"""A kistd that wipes nothing, where a scan must find secrets."""

from pathlib import Path

from scan.errors import cause
from scan.forms import WRITTEN
from scan.memory import scan
from scan.served import Served

SIZE = 3000


def look(row, context):
    library = context.compile(Path("scan/unwiped.c"), "-shared", "-fPIC")
    with Served(context, "kistd-unwiped", LD_PRELOAD=str(library)) as served:
        for way, write in WRITTEN.items():
            for what, members, code in (
                    ("a save", b'"service":"x"', None), ("a request that is refused", b'"nobody":1', "badRequest")):
                secret = served.marks.secret(SIZE)
                with served.kistd.connect() as connection:
                    if (found := cause(connection, b'{"op":"save",' + members + b"," + write(secret) + b"}")) != code:
                        row.wrong.append(f"{what} received {found}")
                check(row, served, secret, f"{what}, {way}")
        secret = served.marks.secret(SIZE)
        with served.kistd.connect() as connection:
            connection.stream.sendall(b'{"op":"save","secret":"' + secret)
        served.await_that(lambda: served.clients() == 1)
        check(row, served, secret, "half a line")
        with served.kistd.connect() as connection:
            connection.ask(op="unlock", passphrase=(secret := served.marks.secret(100)).decode())
        check(row, served, secret, "a passphrase")


def check(row, served, secret, what):
    row.tries += 1
    remains, = scan(served.pid, served.marks)
    if not any(each.found.secret == secret for each in remains):
        row.wrong.append(f"the scan found nothing of {what}")
