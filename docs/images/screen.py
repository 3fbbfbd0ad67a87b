#!/usr/bin/env python3
"""Draws what a command shows in a terminal: debugger.svg is made by

    screen.py 118x34 debugger.svg 'target/debug/simtlab debug kernels/collatz' 'break collatz.cu:19' Enter F5 F3 'rejoin' Enter

Needs tmux. Arguments behind the command are keys as tmux names them.
"""

import html
import re
import subprocess
import sys
import time

COLOURS = ["#000000", "#d05050", "#4e9a51", "#c4a000", "#5577cc", "#a070a0", "#309a9a", "#d0d0d0",
           "#777777", "#ff7070", "#80d080", "#ffe060", "#80a0ff", "#d0a0d0", "#70d0d0", "#ffffff"]
PAPER, INK = "#1e1e24", "#d8d8d8"
WIDE, HIGH, MARGIN = 8.43, 18, 12


def tmux(*words):
    return subprocess.run(["tmux", "-L", "simtlab-screen", *words], capture_output=True, text=True, check=True).stdout


def captured(size, command, keys):
    width, height = size.split("x")
    tmux("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, command)
    try:
        for key in ("", *keys):
            if key:
                tmux("send-keys", key)
            time.sleep(1.5)
        return tmux("capture-pane", "-e", "-p").rstrip("\n").split("\n")
    finally:
        tmux("kill-server")


def spans(line):
    """The parts of a line with one style each: text, colour, bold, dim, inverse."""
    style, out, at = {"colour": INK}, [], 0
    for found in re.finditer(r"\x1b\[([0-9;]*)m", line + "\x1b[0m"):
        if line[at : found.start()]:
            out.append((line[at : found.start()], dict(style)))
        at = found.end()
        for code in map(int, (found[1] or "0").split(";")):
            if code == 0:
                style = {"colour": INK}
            elif code in (1, 2, 7):
                style[code] = True
            elif 30 <= code < 38 or 90 <= code < 98:
                style["colour"] = COLOURS[code - 30 if code < 38 else code - 82]
            elif code == 39:
                style["colour"] = INK
    return out


def svg(lines):
    columns = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    width, height = columns * WIDE + 2 * MARGIN, len(lines) * HIGH + 2 * MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="DejaVu Sans Mono, monospace" font-size="14">'
    yield f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>'
    for row, line in enumerate(lines):
        column, y = 0, MARGIN + row * HIGH
        for text, style in spans(line):
            x, colour = MARGIN + column * WIDE, style["colour"]
            if style.get(7):
                yield f'<rect x="{x:.1f}" y="{y}" width="{len(text) * WIDE:.1f}" height="{HIGH}" fill="{colour}"/>'
                colour = PAPER
            more = (' font-weight="bold"' if style.get(1) else "") + (' opacity="0.6"' if style.get(2) else "")
            if text.strip():
                yield (f'<text x="{x:.1f}" y="{y + 14}" fill="{colour}"{more} xml:space="preserve" '
                       f'textLength="{len(text) * WIDE:.1f}">{html.escape(text)}</text>')
            column += len(text)
    yield "</svg>"


def main():
    size, path, command, *keys = sys.argv[1:]
    with open(path, "w") as file:
        file.write("\n".join(svg(captured(size, command, keys))) + "\n")


main()
