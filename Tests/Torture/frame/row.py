"""One row of the table: what was tried, how often, and with what result."""

import json
from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    what: str
    tries: int = 0
    # Each finding is a sentence that says how to reproduce it.
    lost: list[str] = field(default_factory=list)  # Acknowledged data that is missing or incomplete.
    got_in: list[str] = field(default_factory=list)  # Access or information that should have been refused.
    wrong: list[str] = field(default_factory=list)  # Every other broken promise.
    note: str = ""  # Details of the run, in a few words.
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
    """Returns the rows that `append_to` wrote."""
    with open(file) as rows:
        return [Row(**json.loads(row)) for row in rows]
