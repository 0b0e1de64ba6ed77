"""Bars and lines on logarithmic axes, as SVG for light and dark backgrounds."""

import io

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, StrMethodFormatter

from . import text

LIGHT = {"paper": "#ffffff", "ink": "#24292f", "faint": "#59636e", "grid": "#d8dee4", "limit": "#afb8c1",
         "peer": "#8cb4e2", "kist": "#bc4c00", "other": "#0969da"}
DARK = {"paper": "#0d1117", "ink": "#e6edf3", "faint": "#9198a1", "grid": "#30363d", "limit": "#6e7681",
        "peer": "#2f5f97", "kist": "#f0883e", "other": "#58a6ff"}

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "kist", "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
    "figure.facecolor": LIGHT["paper"], "axes.facecolor": "none", "text.color": LIGHT["ink"],
    "axes.labelcolor": LIGHT["faint"], "xtick.color": LIGHT["faint"], "ytick.color": LIGHT["faint"],
    "xtick.labelsize": 8, "ytick.labelsize": 8, "axes.labelsize": 9, "xtick.major.pad": 6,
    "ytick.major.pad": 6, "grid.color": LIGHT["grid"],
    "axes.autolimit_mode": "round_numbers", "axes.xmargin": 0, "axes.ymargin": 0, "axes.axisbelow": True})


def empty(title, explanation, width, height, left, right):
    """Returns a figure and its axes; all sizes are in points."""
    figure = Figure(figsize=(width / 72, height / 72))
    figure.text(12 / width, 1 - 20 / height, title, size=12, weight="bold")
    figure.text(12 / width, 1 - 35 / height, explanation, size=9, color=LIGHT["faint"])
    axes = figure.add_axes((left / width, 36 / height, (right - left) / width, 1 - 86 / height))
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    return figure, axes


def bars(title, explanation, rows):
    """Draws rows with a name, a kind, a median and a 99th percentile in seconds; the fastest first."""
    names, kinds, medians, tails = zip(*sorted(rows, key=lambda row: row[2], reverse=True))
    figure, axes = empty(title, explanation, 660, 86 + 21 * len(rows), 240, 592)
    beyond = [tail - median for tail, median in zip(tails, medians)]
    drawn = axes.barh(names, medians, 0.68, xerr=([0] * len(rows), beyond), log=True,
                      color=[LIGHT[kind] for kind in kinds], ecolor=LIGHT["faint"],
                      error_kw={"elinewidth": 1.1})
    axes.bar_label(drawn, [text.seconds(median) for median in medians], padding=6, size=9)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.grid(axis="x")
    axes.tick_params(axis="y", labelsize=10, labelcolor=LIGHT["ink"])
    for label, kind in zip(axes.get_yticklabels(), kinds):
        label.set_weight("bold" if kind == "kist" else "normal")
    return svg(figure, title)


def lines(title, explanation, places, series):
    """Draws series with a name, a kind, a line style and a value in seconds at each place."""
    figure, axes = empty(title, explanation, 645, 324, 52, 525)
    for name, kind, style, values in series:
        axes.loglog(places, values, style, color=LIGHT[kind], marker="o", markersize=4, clip_on=False)
        axes.annotate(name, (places[-1], values[-1]), (8, 0), textcoords="offset points", va="center",
                      color=LIGHT[kind], size=9)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel("credentials in the store")
    axes.grid()
    return svg(figure, title)


def svg(figure, title):
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Title": title, "Creator": None, "Date": None})
    return drawn.getvalue().replace("<svg ", '<svg role="img" ', 1).replace("</style>", dark() + "</style>", 1)


def dark():
    """Returns CSS rules that replace each light colour on a dark background."""
    rules = "\n".join(f'[style*="{part}: {color}"] {{ {part}: {DARK[kind]} !important }}'
                      for kind, color in LIGHT.items() for part in ("fill", "stroke"))
    return f"\n@media (prefers-color-scheme: dark) {{\n{rules}\n}}\n"
