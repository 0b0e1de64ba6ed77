"""Prints the names of all objects in all windows, which programs report for assistive technology."""

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402


def texts(node):
    if node is None:
        return
    yield node.get_name()
    for place in range(node.get_child_count()):
        yield from texts(node.get_child_at_index(place))


print("\n".join(filter(None, texts(Atspi.get_desktop(0)))))
