"""Prints the names of all objects in the windows of a program, which it reports for assistive technology."""

import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402


def texts(node):
    if node is None:
        return
    yield node.get_name()
    for place in range(node.get_child_count()):
        yield from texts(node.get_child_at_index(place))


desktop = Atspi.get_desktop(0)
for place in range(desktop.get_child_count()):
    program = desktop.get_child_at_index(place)
    if program is not None and program.get_name() == sys.argv[1]:
        print("\n".join(filter(None, texts(program))))
