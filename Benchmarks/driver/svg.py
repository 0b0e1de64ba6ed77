"""An SVG picture for light and dark backgrounds."""

from xml.sax.saxutils import escape

LIGHT = {"paper": "#ffffff", "ink": "#24292f", "faint": "#59636e", "grid": "#d8dee4", "limit": "#afb8c1",
         "peer": "#8cb4e2", "kist": "#bc4c00", "other": "#0969da"}
DARK = {"paper": "#0d1117", "ink": "#e6edf3", "faint": "#9198a1", "grid": "#30363d", "limit": "#6e7681",
        "peer": "#2f5f97", "kist": "#f0883e", "other": "#58a6ff"}


def rules(colors):
    """Returns CSS rules without variables, which some SVG viewers do not support."""
    filled = "".join(f"rect.{kind}, circle.{kind}, text.{kind} {{ fill: {color} }}\n"
                     for kind, color in colors.items())
    drawn = "".join(f"line.{kind}, polyline.{kind} {{ stroke: {color} }}\n"
                    for kind, color in colors.items())
    return f"text {{ fill: {colors['ink']} }}\n{filled}{drawn}"


STYLE = f"""
svg {{ font-family: Helvetica, Arial, sans-serif }}
line {{ stroke-width: 1 }} line.faint {{ stroke-width: 1.5 }}
polyline {{ fill: none; stroke-width: 2 }} polyline.tail {{ stroke-dasharray: 5 4 }}
{rules(LIGHT)}@media (prefers-color-scheme: dark) {{
{rules(DARK)}}}
"""


class Picture:
    def __init__(self, width, height, title, explanation):
        self.width, self.height = width, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img">', f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}"/>']
        self.text(16, 26, title, size=16, weight="bold")
        self.text(16, 46, explanation, "faint", size=12)

    def text(self, x, y, words, kind="", size=13, anchor="start", weight="normal"):
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
                          f'font-weight="{weight}" text-anchor="{anchor}">{escape(words)}</text>')

    def line(self, kind, x1, y1, x2, y2):
        self.parts.append(
            f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def box(self, kind, x, y, width, height):
        self.parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                          f'height="{height:.1f}" rx="2"/>')

    def path(self, kind, points):
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{kind}" points="{places}"/>')
        self.parts += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]

    def done(self):
        return "\n".join([*self.parts, "</svg>", ""])
