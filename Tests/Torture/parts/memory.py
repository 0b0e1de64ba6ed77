"""Secrets in memory: in kistd and kist-secret-service after calls, errors and disconnects, and in kist while it waits."""

import os
import sys
import time
from itertools import product

from frame.context import TORTURE
from frame.row import Row
from scan import faults, own, passphrases, provider, unencrypted, units, unwiped
from scan.departures import LARGE, departures
from scan.errors import cause, requests
from scan.forms import WRITTEN, in_escapes, text
from scan.load import load
from scan.served import Served

sys.path.append(str(TORTURE.parent.parent / "Benchmarks"))
from driver.keyring import Keyring  # noqa: E402

CLIENTS = 32
# From the smallest allocations to the largest secret.
SIZES = (20, 40, 100, 1000, 10_000, 100_000, 512 << 10)
LARGEST_IN_ESCAPES = 100_000
# In a short run, the number of errors with their own scan.
SAMPLE = 40


def run(context):
    if os.geteuid() != 0:
        raise RuntimeError("this needs root, to read the memory of another process")
    yield timed("a kistd that wipes nothing, where a scan must find secrets", unwiped.look, context)
    keyring = Keyring(context.folder)
    keyring.start()
    try:
        storages = {
            "the encrypted file": {"storage": "encrypted-file"},
            "a keyring": {"storage": "libsecret", "DBUS_SESSION_BUS_ADDRESS": keyring.address}}
        for where, storage in storages.items():
            yield timed(f"one request after another, {where}", after_each, context, storage)
            yield timed(f"{CLIENTS} clients save, load and delete, {where}", under_load, context, storage)
            yield timed(f"errors with a secret in the request, {where}", after_errors, context, storage)
            yield timed(f"clients disconnect, {where}", after_departures, context, storage)
        yield timed("a full or slow disk, a locked or damaged store", faults.look_at_file, context)
        yield timed("a keyring that is locked or does not answer", faults.look_at_keyring, context,
                    storages["a keyring"], keyring)
    finally:
        keyring.stop()
    yield timed("a keyring without encryption", unencrypted.look, context)
    yield timed("passphrases and keys", passphrases.look, context)
    yield timed("credentials of units", units.look, context)
    yield timed("kist while it waits", own.look, context)
    yield timed("kist-secret-service after calls on the bus", provider.look, context)


def timed(what, look, *arguments):
    row, began = Row(what=what), time.monotonic()
    look(row, *arguments)
    row.seconds = time.monotonic() - began
    return row


def after_each(row, context, storage):
    with Served(context, "each-" + storage["storage"], **storage) as served, served.kistd.connect() as connection:
        for size, (way, write) in product(SIZES, WRITTEN.items()):
            if write is in_escapes and size > LARGEST_IN_ESCAPES:
                continue
            key, secret = b'"service":"each"', served.marks.secret(size)
            for request in (
                    [b'"op":"save"', key, write(secret)], [b'"op":"load"', key], [b'"op":"load"', key, b'"encoding":"base64"'],
                    [b'"op":"find"', key], [b'"op":"save"', key, text(served.marks.secret(size))], [b'"op":"delete"', key]):
                if code := cause(connection, b"{" + b",".join(request) + b"}"):
                    row.wrong.append(f"{request[:2]} received {code}")
                served.look(row, f"{request[0].decode()} of {size} bytes {way}")
        connection.close()
        served.look_when_all_have_gone(row)


def under_load(row, context, storage):
    with Served(context, "load-" + storage["storage"], **storage) as served:
        random = context.random("load")
        clients = load(served, random, CLIENTS, context.seconds / 10)
        for client in clients:
            row.wrong += client.wrong
        served.look(row, "the load, all connections open")
        for client in clients:
            client.connection.close()
        served.look_when_clients_have_gone(row, "the load")
        served.look_when_all_have_gone(row)
        row.tries += sum(client.asked for client in clients)


def after_errors(row, context, storage):
    with Served(context, "errors-" + storage["storage"], **storage) as served:
        with served.kistd.connect() as connection:
            connection.ask(op="save", service="there", secret="x")
        all_requests = list(requests(served.marks.secret))
        looked_at = set(range(len(all_requests)))
        if context.short:
            looked_at = set(context.random("errors").sample(sorted(looked_at), SAMPLE))
        for number, (what, code, line) in enumerate(all_requests):
            with served.kistd.connect() as connection:
                if (found := cause(connection, line)) not in code.split():
                    row.wrong.append(f"{what} received {found}, not {code}")
                if number in looked_at:
                    served.look(row, what)
        served.look_when_clients_have_gone(row, "all errors")
        served.look_when_all_have_gone(row)


def after_departures(row, context, storage):
    with Served(context, "departures-" + storage["storage"], "--max-connections", "4", **storage) as served:
        with served.kistd.connect() as connection:
            connection.ask(op="save", service="large", secret=served.marks.secret(LARGE).decode())
        for what, go in departures(served.marks.secret):
            with served.kistd.connect() as connection:
                go(connection)
            served.look_when_clients_have_gone(row, "a client disconnected " + what)
        others = [served.kistd.connect() for _ in range(3)]
        others[0].stream.sendall(b'{"op":"save","secret":"' + served.marks.secret(5000))
        # A single connection without a request would be evicted last.
        others[2].ask(op="hello")
        with served.kistd.connect() as connection:
            connection.ask(op="hello")
        served.look(row, "a client was evicted in the middle of a line")
        for connection in others:
            connection.close()
        served.look_when_clients_have_gone(row, "all disconnected")
        served.look_when_all_have_gone(row)

