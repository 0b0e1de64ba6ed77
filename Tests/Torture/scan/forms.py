"""The forms of a secret in a line or in memory."""

import base64


def escaped(secret):
    """Returns a JSON string with every character escaped."""
    return b"".join(b"\\u%04x" % byte for byte in secret)


def text(secret):
    return b'"secret":"' + secret + b'"'


def in_base64(secret):
    return b'"secretBase64":"' + base64.b64encode(secret) + b'"'


def in_escapes(secret):
    return b'"secret":"' + escaped(secret) + b'"'


# The forms by the names that findings use.
WRITTEN = {"as it is": text, "in base64": in_base64, "in JSON's escapes": in_escapes}
