"""Secrets whose every piece can be found, in any place and in any form."""

import base64
import string
from dataclasses import dataclass

from scan.forms import escaped

LETTERS = string.ascii_letters + string.digits
# The smallest piece to report, in bytes.
PIECE = 16
MARK, REST = 7, 3
AROUND = 200


@dataclass(frozen=True)
class Found:
    """A piece of a secret in some bytes."""
    offset: int
    size: int
    form: str
    secret: bytes


class Marks:
    """Creates secrets, and searches for them.

    A unique mark is repeated in a secret every MARK + REST bytes, with bytes of the secret's own in between. So any PIECE
    consecutive bytes of a secret contain the mark.
    """

    def __init__(self, random):
        self.random = random
        self.mark = self._letters(MARK)
        self.secrets = []
        self.needles = {"as it is": self.mark.encode(), "in JSON's escapes": escaped(self.mark.encode())}
        for before in range(3):
            # The base64 characters that only encode bits of the mark.
            first, end = -(-8 * before // 6), 8 * (before + MARK) // 6
            text = base64.b64encode(bytes(before) + self.mark.encode() + bytes(3))
            self.needles[f"in base64, after {before}"] = text[first:end]

    def _letters(self, count):
        return "".join(self.random.choices(LETTERS, k=count))

    def secret(self, size):
        """Returns a secret of this size, at least two marks long. It is text."""
        # A large secret repeats itself, as random bytes take time.
        some = "".join(self._letters(REST) + self.mark for _ in range(min(-(-size // (MARK + REST)), 1000)))
        secret = (some * -(-size // len(some)))[:size].encode()
        self.secrets.append(secret)
        return secret

    def find(self, data):
        """Yields all pieces of secrets in some bytes, including short ones."""
        for form, needle in self.needles.items():
            place = data.find(needle)
            while place >= 0:
                found = self._measure(data, place, needle, form)
                yield found
                place = data.find(needle, max(found.offset + found.size, place + 1))

    def _measure(self, data, place, needle, form):
        """Returns the piece around a mark, with its secret."""
        start, end = max(0, place - AROUND), place + len(needle) + AROUND
        around, place = data[start:end], place - start
        best = Found(start + place, len(needle), form, b"")
        for secret in self.secrets:
            for written in forms(secret, form):
                # Enough of the secret to contain every possible neighbourhood of a mark.
                written = written[:30_000] + written[-4 * AROUND:]
                first, last = place, place + len(needle)
                while first > 0 and around[first - 1:last] in written:
                    first -= 1
                while last < len(around) and around[first:last + 1] in written:
                    last += 1
                if last - first > best.size or not best.secret and around[first:last] in written:
                    best = Found(start + first, last - first, form, secret)
        return best


def forms(secret, form):
    """Returns the representations of a secret in a form."""
    if form == "as it is":
        return [secret]
    if form == "in JSON's escapes":
        return [escaped(secret[:5000])]
    return [base64.b64encode(bytes(int(form[-1])) + secret[:30_000])]

