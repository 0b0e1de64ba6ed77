"""An application that asks the Secret portal for its secret.

With names as arguments, it asks xdg-desktop-portal once for each name. It prints the name, the response and the
secret of each answer, in their order. The pipe of the name `full` has no space until all other answers are there.

With `direct HANDLE APPLICATION KIND`, it asks the back end of kist itself, as any program on the bus can. It prints
the response, or the name of the error. KIND is `pipe`, `socket`, `file`, or `closed` for a pipe without a reader.
"""

import fcntl
import os
import socket
import sys

from gi.repository import Gio, GLib

bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
path = "/org/freedesktop/portal/desktop"


def call(destination, interface, format, *values, fd):
    """Makes a call whose format contains the descriptor as 0, and closes the descriptor."""
    fds = Gio.UnixFDList.new()
    fds.append(fd)
    os.close(fd)
    return bus.call_with_unix_fd_list_sync(
        destination, path, interface, "RetrieveSecret", GLib.Variant(format, values), None, 0, 30000, fds, None)[0]


def filled(fd):
    """Fills a pipe, and returns the number of bytes in it."""
    os.set_blocking(fd, False)
    count = 0
    try:
        while True:
            count += os.write(fd, b" " * 4096)
    except BlockingIOError:
        os.set_blocking(fd, True)
        return count


def whole(fd):
    """Reads to the end, which comes when all others have closed the pipe."""
    with os.fdopen(fd, "rb") as reader:
        return reader.read()


def ask(names):
    loop, readers, filler = GLib.MainLoop(), {}, 0

    def answered(_connection, _sender, request, _interface, _signal, arguments):
        name = request.rpartition("/")[2]
        reader = readers.pop(name)
        if list(readers) == ["full"]:
            os.read(readers["full"], filler)
        print(name, arguments.unpack()[0], whole(reader).hex(), flush=True)
        if not readers:
            loop.quit()

    bus.signal_subscribe(None, "org.freedesktop.portal.Request", "Response", None, None, 0, answered)
    for name in names:
        readers[name], writer = os.pipe()
        if name == "full":
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
            filler = filled(writer)
        call("org.freedesktop.portal.Desktop", "org.freedesktop.portal.Secret", "(ha{sv})", 0,
             {"handle_token": GLib.Variant("s", name)}, fd=writer)
    loop.run()


def ask_back_end(handle, application, kind):
    reader = None
    if kind == "file":
        writer = os.memfd_create("file")
    elif kind == "socket":
        reader, writer = (end.detach() for end in socket.socketpair())
    else:
        reader, writer = os.pipe()
        if kind == "closed":
            os.close(reader)
    try:
        response, _ = call("org.freedesktop.impl.portal.desktop.kist", "org.freedesktop.impl.portal.Secret",
                           "(osha{sv})", handle, application, 0, {}, fd=writer).unpack()
    except GLib.Error as error:
        return print(Gio.DBusError.get_remote_error(error))
    print(response, whole(reader).hex())


if sys.argv[1] == "direct":
    ask_back_end(*sys.argv[2:])
else:
    ask(sys.argv[1:])
