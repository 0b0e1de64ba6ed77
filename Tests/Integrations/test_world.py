"""The requirements of the integration tests themselves."""

import os
import unittest
from unittest import mock

from world import needs


class Needs(unittest.TestCase):
    def test_a_missing_program_fails_where_ci_is_set_and_is_skipped_elsewhere(self):
        with mock.patch.dict(os.environ, {"CI": "1"}):
            self.assertRaisesRegex(RuntimeError, "lacks no-such-program", needs, "no-such-program")
        with mock.patch.dict(os.environ):
            os.environ.pop("CI", None)
            with self.assertRaises(unittest.SkipTest):
                needs("no-such-program")(lambda test: None)(self)


if __name__ == "__main__":
    unittest.main()
