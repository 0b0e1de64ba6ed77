"""Every error that a client can cause with a secret in its request."""

import base64
from itertools import product

from scan.forms import WRITTEN, escaped, in_base64, text

SIZES = (40, 5000, 200_000)
LARGEST = 512 << 10
SAVE = b'"op":"save","service":"errors"'


def requests(secret):
    """Yields requests with secrets of each size, and the expected error codes."""
    for size, (way, write) in product(SIZES, WRITTEN.items()):
        if write is not WRITTEN["in JSON's escapes"] or size < 100_000:
            for what, code, line in misread(lambda: write(secret(size))):
                yield f"{what}, a secret of {size} bytes {way}", code, line
    for what, code, line in misspelt(secret):
        yield what, code, line


def misread(written):
    """Yields invalid requests with a valid secret."""
    for what, members in {
        "an unknown key behind it": (SAVE, written(), b'"nobody":1'),
        "an unknown key before it": (SAVE, b'"nobody":1', written()),
        "a key twice, behind it": (SAVE, written(), b'"service":"errors"'),
        "it twice": (SAVE, written(), written()),
        "a value of another type behind it": (SAVE, written(), b'"label":1'),
        "null": (SAVE, written(), b'"label":null'),
        "too deep": (SAVE, written(), b'"attributes":' + 20 * b"["),
        "too many keys": (SAVE, written(), *(b'"%d":0' % number for number in range(200))),
        "half a surrogate pair": (SAVE, written(), b'"label":"\\ud800"'),
        "bytes that are not UTF-8": (SAVE, written(), b'"label":"\xff"'),
        "a control character": (SAVE, written(), b'"label":"\x01"'),
        "a label with a control character": (SAVE, written(), b'"label":"\\u0001"'),
        "no service": (b'"op":"save"', written()),
        "no time": (SAVE, written(), b'"expiresAt":"tomorrow"'),
        "no operation": (b'"service":"errors"', written()),
        "an id that is none": (SAVE, written(), b'"id":{}'),
        "a load": (b'"op":"load","service":"errors"', written()),
        "a find": (b'"op":"find"', written()),
        "an unlock": (b'"op":"unlock"', written()),
        "a new passphrase": (b'"op":"slotAdd"', b'"passphrase":"new"', written()),
    }.items():
        yield what, "badRequest", b"{" + b",".join(members) + b"}"
    yield "no end", "badRequest", b"{" + SAVE + b"," + written()
    yield "more after the end", "badRequest", b"{" + SAVE + b"," + written() + b"}}"
    yield "an array", "badRequest", b"[{" + SAVE + b"," + written() + b"}]"
    yield "an unknown operation", "unknownOperation", b'{"op":"keep",' + written() + b"}"
    yield "a revision that does not exist", "conflict", b'{"op":"save","service":"there","ifRevision":"none",' + written() + b"}"
    yield "an existing credential", "conflict", b'{"op":"save","service":"there","ifRevision":null,' + written() + b"}"
    yield "a label that is too long", "tooLarge", b"{" + SAVE + b"," + written() + b',"label":"' + 2000 * b"x" + b'"}'


def misspelt(secret):
    """Yields requests with an invalid secret."""
    def bad(*members):
        return "badRequest", b"{" + b",".join((SAVE, *members)) + b"}"
    yield "both forms", *bad(text(secret(300)), in_base64(secret(300)))
    yield "text for base64", *bad(b'"secretBase64":"' + secret(301) + b'"')
    yield "base64 with a bad end", *bad(b'"secretBase64":"' + base64.b64encode(secret(3000)) + b'=A=="')
    yield "base64 without its end", *bad(b'"secretBase64":"' + base64.b64encode(secret(301)).rstrip(b"=") + b'"')
    yield "base64 with a line break", *bad(b'"secretBase64":"' + base64.b64encode(secret(300)) + b'\\n"')
    yield "base64 in an array", *bad(b'"secretBase64":["' + base64.b64encode(secret(300)) + b'"]')
    yield "the secret in an array", *bad(b'"secret":["' + secret(300) + b'"]')
    yield "the secret in an object", *bad(b'"secret":{"value":"' + secret(300) + b'"}')
    yield "the secret without quotes", *bad(b'"secret":' + secret(300))
    yield "the secret without its end", *bad(b'"secret":"' + secret(300))
    yield "a control character in the secret", *bad(b'"secret":"' + secret(300) + b"\x01" + secret(300) + b'"')
    yield "a bad escape in the secret", *bad(b'"secret":"' + escaped(secret(300)) + b'\\x"')
    yield "half a surrogate pair in the secret", *bad(b'"secret":"' + secret(300) + b'\\udc00"')
    yield "bytes in the secret that are not UTF-8", *bad(b'"secret":"' + secret(300) + b'\xc3"')
    yield "the secret as a key", *bad(b'"' + secret(300) + b'":1')
    yield "the secret as an escaped key", *bad(b'"' + escaped(secret(300)) + b'":1')
    yield "the secret in an unknown key", *bad(b'"password":"' + secret(300) + b'"')
    yield "the secret as a revision", *bad(text(secret(30)), b'"ifRevision":["' + secret(300) + b'"]')
    yield "nothing but the secret", "badRequest", secret(300)
    yield "nothing but the secret, in quotes", "badRequest", b'"' + secret(300) + b'"'
    yield "one byte too many", "tooLarge", b"{" + SAVE + b"," + text(secret(LARGEST + 1)) + b"}"
    yield "one byte too many, in base64", "tooLarge", b"{" + SAVE + b"," + in_base64(secret(LARGEST + 1)) + b"}"
    yield "a passphrase that is too long", "tooLarge", b'{"op":"unlock","passphrase":"' + secret(1025) + b'"}'
    yield "a passphrase for a store without one", "wrongPassphrase badRequest", b'{"op":"unlock","passphrase":"' + secret(100) + b'"}'
    # kistd closes the connection here.
    yield "a line that is too long", "tooLarge", b"{" + SAVE + b"," + text(secret((1 << 20) + 1)) + b"}"


def cause(connection, line):
    """Sends a request; returns the error code, if any."""
    connection.stream.sendall(line + b"\n")
    return connection.receive().get("error", {}).get("code")
