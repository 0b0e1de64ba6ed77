#!/usr/bin/env python3
"""Draws the pictures of docs/ as SVG: run it after changing what it draws, commit the result.

`draw.py --check` draws into memory and fails where a committed picture differs.
"""

import sys
from pathlib import Path

INK, FAINT, PAPER = "#24292f", "#6e7781", "#ffffff"
FILL = {"core": "#fff4d6", "wire": "#ddf4ff", "io": "#dafbe1", "program": "#fbefff", "foreign": "#f6f8fa"}


class Picture:
    def __init__(self, width: int, height: int, title: str):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="Helvetica, Arial, sans-serif" role="img">',
            f"<title>{title}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            f'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="{FAINT}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
        ]

    def text(self, x, y, words, size=13, color=INK, weight="normal", anchor="middle"):
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(
            f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}" font-weight="{weight}" '
            f'text-anchor="{anchor}">{words}</text>')

    def box(self, x, y, width, height, name, lines=(), kind="io"):
        dash = ' stroke-dasharray="4 3"' if kind == "foreign" else ""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{FILL[kind]}" '
            f'stroke="{FAINT}"{dash}/>')
        first = y + height / 2 + 5 - 8 * len(lines)
        self.text(x + width / 2, first, name, weight="bold")
        for number, line in enumerate(lines):
            self.text(x + width / 2, first + 17 * (number + 1), line, 11, FAINT)

    def arrow(self, *points, label="", dx=0, dy=-6):
        path = "M" + "L".join(f"{x} {y}" for x, y in points)
        self.parts.append(
            f'<path d="{path}" fill="none" stroke="{FAINT}" stroke-width="1.3" marker-end="url(#tip)"/>')
        if label:
            (x1, y1), (x2, y2) = points[0], points[1]
            self.text((x1 + x2) / 2 + dx, (y1 + y2) / 2 + dy, label, 11, FAINT)

    def done(self) -> str:
        return "\n".join(self.parts + ["</svg>", ""])


def modules() -> str:
    p = Picture(1510, 470, "The modules of kist and their imports")
    p.box(40, 20, 150, 44, "kist", kind="program")
    p.box(470, 20, 150, 44, "kistd", kind="program")
    p.box(20, 104, 170, 56, "KistCommands", ["the CLI"], "program")
    p.box(470, 104, 150, 56, "KistDaemon", ["options, composition"], "program")
    p.box(255, 104, 150, 56, "KistTerminal", ["prompts, widths"], "io")
    p.box(60, 206, 150, 56, "KistClient", ["POSIX sockets"], "io")
    p.box(330, 206, 150, 56, "KistServer", ["SwiftNIO"], "io")
    p.box(610, 206, 150, 56, "KistFile", ["SQLite"], "io")
    p.box(820, 206, 150, 56, "KistLibsecret", ["libsecret, GLib"], "io")
    p.box(185, 308, 150, 56, "KistWire", ["operations, lines"], "wire")
    p.box(400, 308, 150, 56, "KistSystem", ["errors, /proc"], "io")
    p.box(580, 308, 130, 56, "KistVault", ["the format"], "core")
    p.box(1340, 104, 150, 56, "KistReplica", ["a vault on a machine"], "core")
    p.box(1340, 206, 150, 56, "KistShared", ["records of a vault"], "core")
    p.box(1340, 308, 150, 56, "KistCluster", ["a cluster's functions"], "core")
    p.box(735, 308, 130, 56, "KistSodium", ["libsodium"], "io")
    p.box(20, 308, 130, 56, "KistInterop", ["tools' protocols"], "wire")
    p.box(185, 404, 150, 46, "KistJSON", kind="wire")
    p.box(1050, 20, 190, 44, "kist-secret-service", kind="program")
    p.box(1030, 104, 230, 56, "KistSecretServiceProgram", ["calls on the bus, windows"], "program")
    p.box(1010, 206, 170, 56, "KistSecretService", ["items, their index"], "core")
    p.box(1200, 206, 110, 56, "KistBus", ["sd-bus"], "io")
    p.box(1030, 308, 130, 56, "KistGcrypt", ["libgcrypt"], "io")
    p.box(400, 404, 1090, 46, "KistCore: the shared types", kind="core")
    for start, end in [
        ((115, 64), (115, 104)), ((545, 64), (545, 104)), ((115, 160), (115, 206)),
        ((510, 160), (430, 206)), ((480, 160), (212, 218)), ((590, 160), (665, 206)), ((150, 262), (230, 308)),
        ((385, 262), (300, 308)), ((665, 262), (645, 308)), ((720, 262), (780, 308)), ((710, 336), (735, 336)), ((260, 364), (260, 404)),
        ((335, 350), (440, 404)), ((645, 364), (645, 404)), ((800, 364), (800, 404)), ((335, 427), (400, 427)),
        ((190, 132), (255, 132)), ((470, 132), (405, 132)), ((615, 150), (825, 206)), ((895, 262), (895, 404)), ((30, 160), (30, 308)),
        ((110, 364), (190, 404)), ((425, 262), (450, 308)), ((640, 262), (545, 308)),
        ((1145, 64), (1145, 104)), ((1110, 160), (1095, 206)), ((1220, 160), (1255, 206)), ((1095, 262), (1095, 308)),
        ((1020, 262), (865, 318)), ((1095, 364), (1095, 404)), ((1255, 262), (1255, 404)),
        ((1415, 160), (1415, 206)), ((1415, 262), (1415, 308)), ((1415, 364), (1415, 404)),
    ]:
        p.arrow(start, end)
    p.arrow((1030, 132), (990, 132), (990, 184), (180, 184), (180, 206))
    p.arrow((1360, 262), (1360, 286), (690, 286), (690, 308))
    p.text(1498, 465, "an arrow means “imports”; the table has every import", 11, FAINT, anchor="end")
    return p.done()


def request() -> str:
    p = Picture(960, 430, "The path of one load, from line to line")
    p.text(20, 28, "kist, or any program", 12, FAINT, anchor="start")
    p.text(120, 168, "kistd: a task for each line, on the connection's event loop", 12, FAINT, anchor="start")
    p.text(20, 318, "the storage", 12, FAINT, anchor="start")
    p.box(20, 42, 200, 60, "UserStorage.remote", ["load(request)"], "core")
    p.box(280, 42, 200, 60, "Operation.load", ["encode the request"], "wire")
    p.box(740, 42, 200, 60, "Operation.load", ["decode the reply"], "wire")
    p.box(20, 184, 170, 66, "peer check", ["uid, before a byte", "is read"], "io")
    p.box(220, 184, 170, 66, "LineSplitter", ["at most 1 MiB,", "wiped buffers"], "wire")
    p.box(420, 184, 150, 66, "answer", ["id, errors"], "wire")
    p.box(600, 184, 150, 66, "dispatch", ["name to handler"], "wire")
    p.box(780, 184, 160, 66, "Operation.load", ["decode, run, encode"], "wire")
    p.box(780, 334, 160, 66, "limits", ["then expiry"], "core")
    p.box(560, 334, 180, 66, "EncryptedFile.load", ["lookup tag"], "io")
    p.box(320, 334, 200, 66, "SQLite", ["one row, by its address"], "foreign")
    p.box(20, 334, 260, 66, "libsodium", ["open the sealed row into a Secret"], "foreign")
    p.arrow((220, 72), (280, 72))
    p.arrow((440, 102), (440, 142), (105, 142), (105, 184))
    p.text(270, 136, '{"op":"load","service":"github.com","account":"alice"}', 11, FAINT)
    p.arrow((190, 217), (220, 217))
    p.arrow((390, 217), (420, 217))
    p.arrow((570, 217), (600, 217))
    p.arrow((750, 217), (780, 217))
    p.arrow((860, 250), (860, 334))
    p.arrow((780, 367), (740, 367))
    p.arrow((560, 367), (520, 367))
    p.arrow((320, 367), (280, 367))
    p.arrow((495, 184), (495, 142), (840, 142), (840, 102))
    p.text(668, 136, '{"ok":true,"credential":{…,"secret":"…"}}', 11, FAINT)
    return p.done()


def overview() -> str:
    p = Picture(900, 300, "How programs, kistd and the storages work together")
    p.box(20, 24, 210, 56, "you, scripts", ["kist"], "program")
    p.box(20, 114, 210, 56, "git, docker, cargo, …", ["helpers, links to kist"], "foreign")
    p.box(20, 204, 210, 56, "your programs", ["one line of JSON"], "foreign")
    p.box(370, 90, 190, 104, "kistd", ["runs as you", "has the key", "audit log"], "program")
    p.box(690, 44, 190, 66, "the keyring", ["on a desktop"], "foreign")
    p.box(690, 174, 190, 66, "an encrypted file", ["everywhere else"], "io")
    for y, end in ((52, 122), (142, 142), (232, 162)):
        p.arrow((230, y), (370, end))
    p.text(300, 224, "Unix socket,", 11, FAINT)
    p.text(300, 239, "your user only", 11, FAINT)
    p.arrow((560, 122), (690, 82))
    p.arrow((560, 162), (690, 202))
    p.text(625, 146, "one of the two", 11, FAINT)
    return p.done()


def shared() -> str:
    p = Picture(900, 400, "A vault that three machines share")
    p.text(20, 26, "three machines", 12, FAINT, anchor="start")
    p.text(690, 26, "the cluster, which is not trusted", 12, FAINT, anchor="start")
    for number, name in enumerate(("web-1", "web-2", "db-1")):
        y = 40 + 112 * number
        p.box(20, y, 190, 88, f"kistd on {name}", ["machine key, vault key", "no network"], "program")
        p.box(250, y, 150, 88, "copy", ["all credentials, sealed", "loads without network"], "io")
        p.box(440, y, 150, 88, "kist-etcd", ["network", "no keys"], "program")
        p.arrow((210, y + 30), (250, y + 30))
        # kistd reaches kist-etcd below its copy.
        p.arrow((115, y + 88), (115, y + 100), (515, y + 100), (515, y + 88))
        p.box(690, y, 180, 88, f"etcd node {number + 1}", ["sealed records", "signed heads"], "foreign")
        p.arrow((590, y + 44), (690, y + 44), label="mutual TLS")
    p.text(20, 388, "The admin key is on none of these machines. It signs which machines are members.", 12, FAINT, anchor="start")
    return p.done()


def main() -> int:
    folder, stale = Path(__file__).parent, []
    pictures = {"modules.svg": modules(), "overview.svg": overview(), "request.svg": request(), "shared.svg": shared()}
    for name, picture in pictures.items():
        path = folder / name
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != picture:
                stale.append(name)
        else:
            path.write_text(picture, encoding="utf-8")
    for name in stale:
        print(f"docs/pictures/{name} is out of date: run docs/pictures/draw.py", file=sys.stderr)
    return 1 if stale else 0


sys.exit(main())
