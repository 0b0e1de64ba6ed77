"""The table at the end of a run."""

SHOWN = 20


def count(findings):
    return str(len(findings)) if findings else "nothing"


def print_table(rows):
    """Prints the rows and the findings; returns the exit status."""
    heads = ("part", "what was tried", "tries", "lost", "got in", "wrong", "seconds", "")
    lines = [(row.part, row.what, f"{row.tries:,}", count(row.lost), count(row.got_in), count(row.wrong),
              f"{row.seconds:,.0f}", row.note) for row in rows]
    total = ("", "all", f"{sum(row.tries for row in rows):,}", *(
        count([each for row in rows for each in getattr(row, name)]) for name in ("lost", "got_in", "wrong")
    ), f"{sum(row.seconds for row in rows):,.0f}", "")
    widths = [max(len(line[column]) for line in [heads, *lines, total]) for column in range(len(heads))]
    rule = ["-" * width for width in widths]
    print()
    for line in [heads, rule, *lines, rule, total]:
        cells = [cell.rjust(width) if column in (2, 6) else cell.ljust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())
    for row in rows:
        if row.findings:
            print(f"\n{row.part}, {row.what}, seed {row.seed}:")
            for finding in row.findings[:SHOWN]:
                print(f"  {finding}")
            if len(row.findings) > SHOWN:
                print(f"  and {len(row.findings) - SHOWN} more")
    idle = [row.what for row in rows if row.tries == 0]
    for what in idle:
        print(f"\nnothing was tried: {what}")
    return 1 if idle or not rows or any(row.findings for row in rows) else 0
