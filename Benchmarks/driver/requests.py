"""The request lines for kistd."""

import json

MOST_LINES = 4096


def key(number):
    return {"service": f"service-{number:07}.example.org", "account": "alice"}


def line(operation, **fields):
    return json.dumps({"op": operation, **fields}, separators=(",", ":")).encode() + b"\n"


def load(number):
    return line("load", **key(number))


def save(number):
    return line("save", **key(number), secret=f"correct horse battery staple {number:07}",
                label="Alice at work", attributes={"host": "example.org"})


def large(operation, size, number):
    """Returns a load or a save of a credential with a secret of a number of bytes."""
    secret = {"secret": "s" * size} if operation == "save" else {}
    return line(operation, service=f"secret-of-{size}.example.org", account=str(number), **secret)


def spread(operation, count):
    """Returns requests for credentials spread over a store of a size."""
    step = max(1, count // MOST_LINES)
    return b"".join(operation(number) for number in range(0, count, step))
