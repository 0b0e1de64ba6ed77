"""Clients that disconnect while a secret is in transit."""

import socket
from itertools import product

from scan.forms import WRITTEN

SAVE = b'{"op":"save","service":"gone",'
LOAD = b'{"op":"load","service":"large"}\n'
# Sizes of a partial line: less than one read of kistd, exactly one, several, almost the maximum.
BEGINNINGS = (60, 200, 16 << 10, 50_000, 160_000)
LARGE = 500_000


def departures(secret):
    """Yields the actions of clients before they disconnect, as functions of a connection."""
    for size, (way, write) in product(BEGINNINGS, WRITTEN.items()):
        def begin(connection, size=size, write=write):
            connection.stream.sendall((SAVE + write(secret(size)))[:size + 50])
        yield f"in the middle of a line of {size} bytes, {way}", begin

    def end_writing(connection):
        begin(connection)
        connection.stream.shutdown(socket.SHUT_WR)
        connection.receive()

    def whole(connection):
        connection.stream.sendall(SAVE + b'"secret":"' + secret(5000) + b'"}\n')

    def several(connection):
        connection.stream.sendall(b"".join(SAVE + b'"secret":"' + secret(3000) + b'"}\n' for _ in range(20)))

    def large(connection):
        connection.stream.sendall(SAVE + b'"secret":"' + secret(LARGE) + b'"}\n')

    def half_read(connection):
        connection.stream.sendall(LOAD)
        connection.stream.recv(LARGE // 2, socket.MSG_WAITALL)

    def unread(connection):
        connection.stream.sendall(LOAD)
        connection.stream.recv(1)

    def many_unread(connection):
        connection.stream.sendall(10 * LOAD)
        connection.stream.recv(1)

    def in_pieces(connection):
        for byte in SAVE + b'"secret":"' + secret(300):
            connection.stream.sendall(bytes([byte]))

    yield "with its writing half closed in the middle of a line", end_writing
    yield "before a save is answered", whole
    yield "before twenty saves are answered", several
    yield "before a large save is answered", large
    yield "with half of a large reply read", half_read
    yield "with a byte of a large reply read", unread
    yield "with a byte of ten large replies read", many_unread
    yield "in the middle of a line sent byte by byte", in_pieces
