"""One row of the table: what was tried, how often, and what came of it."""

import json
from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    what: str
    tries: int = 0
    # Each finding in a sentence that says how to see it again.
    lost: list[str] = field(default_factory=list)  # What was answered as done and is not there, or not whole.
    got_in: list[str] = field(default_factory=list)  # Who was served, or learnt what was not for them.
    wrong: list[str] = field(default_factory=list)  # Every other promise that was not kept.
    note: str = ""  # What is worth knowing of how it went, in a few words.
    seconds: float = 0
    part: str = ""
    seed: int = 0

    @property
    def findings(self):
        return ([f"lost: {each}" for each in self.lost] + [f"got in: {each}" for each in self.got_in]
                + [f"wrong: {each}" for each in self.wrong])

    def summary(self):
        found = f"{len(self.findings)} FINDINGS" if self.findings else "nothing found"
        return f"{self.what}: {self.tries:,} tries, {found}, {self.seconds:.0f} s"

    def append_to(self, file):
        with open(file, "a") as rows:
            rows.write(json.dumps(asdict(self)) + "\n")


def read_rows(file):
    """The rows that `append_to` wrote."""
    with open(file) as rows:
        return [Row(**json.loads(row)) for row in rows]
