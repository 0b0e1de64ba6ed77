"""Figures as text, and tables as Markdown."""


def seconds(value):
    if value < 1e-3:
        return f"{value * 1e6:.1f} µs"
    if value < 1:
        return f"{value * 1e3:.2f} ms" if value < 0.1 else f"{value * 1e3:.0f} ms"
    return f"{value:.1f} s"


def times(value):
    return f"{value:.2f}×" if value < 10 else f"{value:,.0f}×"


def rate(value):
    return f"{value:,.0f}/s"


def mebibytes(value):
    return f"{value:.1f} MiB"


def count(value):
    return f"{value:,.0f}"


def table(headings, rows):
    cells = [headings, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
             for row in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])
