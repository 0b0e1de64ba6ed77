"""The check of a history accepts a right one and finds each kind of wrong answer."""

import unittest
from types import SimpleNamespace

from history import Client, Watcher, check

NAMES = ["00000001/head", "00000001/row/1"]


def history():
    """Two commits by one client, a third whose answer was lost, one that lost the race, and a watcher."""
    client, watcher = Client(0, None), Watcher(None, 1)
    client.reads = [(0, 1, 0), (3, 4, 1), (6, 7, 2), (9, 10, 3)]
    client.attempts = [
        (1, 2, 1, b"head 1 a", "made", "2"), (1, 3, 1, b"head 1 b", "not made", None), (4, 5, 2, b"head 2 c", "made", "3"),
        (7, 8, 3, b"head 3 d", "unknown", None)]
    watcher.commits = [(2, NAMES, b"head 1 a"), (3, NAMES, b"head 2 c"), (4, NAMES, b"head 3 d")]
    return SimpleNamespace(clients=[client], watchers=[watcher]), {1: b"head 1 a", 2: b"head 2 c", 3: b"head 3 d"}


class History(unittest.TestCase):
    def test_a_right_history_is_accepted(self):
        check(*history())

    def test_each_wrong_answer_is_found(self):
        def lost(traffic, stored):
            del stored[3]
            stored[2] = b"head 2 e"

        def made_although_refused(traffic, stored):
            traffic.clients[0].attempts[3] = (7, 8, 3, b"head 3 d", "unchanged", None)

        def stale(traffic, stored):
            traffic.clients[0].reads[2] = (6, 7, 1)

        def twice(traffic, stored):
            traffic.watchers[0].commits.insert(1, (2, NAMES, b"head 1 a"))

        def missing(traffic, stored):
            del traffic.watchers[0].commits[1]

        def incomplete(traffic, stored):
            traffic.watchers[0].commits[1] = (3, NAMES[:1], b"head 2 c")

        def of_another_position(traffic, stored):
            traffic.watchers[0].commits[1] = (4, NAMES, b"head 2 c")

        def invented(traffic, stored):
            stored[4] = b"head 4 x"

        for fault, text in [
                (lost, "an answered commit is lost"), (made_although_refused, "was unchanged"), (stale, "a read returned head 1 after 2"),
                (twice, "twice"), (missing, "was not reported"), (incomplete, "without some writes"),
                (of_another_position, "position of a commit differs"), (invented, "a commit that no client made")]:
            with self.subTest(fault.__name__):
                traffic, stored = history()
                fault(traffic, stored)
                with self.assertRaisesRegex(AssertionError, text):
                    check(traffic, stored)


if __name__ == "__main__":
    unittest.main(verbosity=2)
