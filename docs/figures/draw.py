"""Redraws figures of three papers from sweeps: docs/figures.md.

    for s in thread-frontiers deadlocks warp-sizes; do simtlab sweep docs/figures/$s.toml --out /tmp/f/$s; done
    python3 docs/figures/draw.py /tmp/f docs/figures

writes an SVG for each, and prints the tables of the page. The standard library suffices.
"""

import csv
import pathlib
import sys
from html import escape

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c6d00"]
# Block issues that the thread-frontier papers' microbenchmarks give for a warp of 32: (stack, frontiers).
PUBLISHED = {
    "short_circuit": (428, 166),
    "exception_loop": (116992, 16304),
    "exception_cond": (6560, 3312),
    "exception_call": (3517, 3314),
    "split_merge": (6625, 3377),
}


def rows(folder):
    with open(folder / "rows.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def kernel(row):
    path = row["launch"].split("/")
    return path[-2] if path[-1] == "launch.toml" else "/".join(path[-2:])[: -len(".toml")]


def svg(width, height, title, body):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{escape(title)}">\n'
        '<style>text{font:12px system-ui,sans-serif;fill:#222}.t{font-weight:600;font-size:14px}.s{font-size:10px}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/><text class="t" x="12" y="22">{escape(title)}</text>\n' + "\n".join(body) + "\n</svg>\n"
    )


def frontiers(folder, out):
    table = rows(folder)
    values = {}
    for row in table:
        setting = row["settings"].replace("priorities=", "") or "-"
        values[kernel(row), row["mechanism"], setting, int(row["warp_size"])] = int(row["block_issues"])
    body, y = [], 46
    print("| kernel | published, stack / frontiers | `ipdom` | `tf-stack`, compiler | `tf-stack`, layout | `tf-sandy`, compiler |\n|---|---|---|---|---|---|")
    for name, (stack, tf) in PUBLISHED.items():
        ipdom = values[name, "ipdom", "-", 32]
        compiler, layout = (values[name, "tf-stack", p, 32] for p in ("compiler", "layout"))
        sandy = values[name, "tf-sandy", "compiler", 32]
        print(f"| {name} | {stack} / {tf} | {ipdom} | {compiler} | {layout} | {sandy} |")
        for at, (label, value) in enumerate([("ipdom", ipdom), ("tf-sandy", sandy), ("tf-stack", compiler)]):
            w = 420 * value / ipdom
            body.append(f'<rect x="180" y="{y + 16 * at}" width="{w:.1f}" height="13" fill="{COLOURS[at]}"/>')
            body.append(f'<text class="s" x="{184 + w:.1f}" y="{y + 16 * at + 10}">{label} {value} ({value / ipdom:.3f})</text>')
        body.append(f'<text x="170" y="{y + 28}" text-anchor="end">{escape(name)}</text>')
        y += 60
    (out / "thread-frontiers.svg").write_text(svg(800, y + 10, "Block issues of a warp of 32, relative to the stack", body))


def deadlocks(folder, out):
    table = rows(folder)
    verdicts, mechanisms = {}, []
    for row in table:
        if row["mechanism"] not in mechanisms:
            mechanisms.append(row["mechanism"])
        verdicts.setdefault((kernel(row), row["mechanism"]), {})[row["order"] or "-"] = row["verdict"]
    order = ["ipdom", "multi-path", "tf-stack", "min-pc", "max-pc", "convergence-barriers", "exec-mask", "predication"]
    mechanisms = [m for m in order if m in mechanisms]
    kernels = sorted({k for k, _ in verdicts})
    print("| | " + " | ".join(f"`{m}`" for m in mechanisms) + " |\n|---" * 1 + "|---" * len(mechanisms) + "|")
    body = []
    for line, name in enumerate(kernels):
        y = 150 + 22 * line
        cells = []
        body.append(f'<text x="270" y="{y + 15}" text-anchor="end">{escape(name)}</text>')
        for column, mechanism in enumerate(mechanisms):
            found = verdicts.get((name, mechanism), {})
            hangs = [o for o, v in found.items() if v == "hang"]
            text = "-" if not hangs else "H" if len(hangs) == len(found) else f"H under {', '.join(sorted(hangs))}"
            cells.append(text)
            short = {"-": "", "H": "H"}.get(text, f"{len(hangs)}/{len(found)}")
            fill = "#e7f2ec" if not hangs else "#d55e00" if short == "H" else "#e69f00"
            x = 280 + 44 * column
            body.append(f'<rect x="{x}" y="{y}" width="42" height="20" fill="{fill}"><title>{escape(name)} under {mechanism}: {escape(text)}</title></rect>')
            body.append(f'<text x="{x + 21}" y="{y + 15}" text-anchor="middle">{short}</text>')
        print(f"| {name} | " + " | ".join(cells) + " |")
    for column, mechanism in enumerate(mechanisms):
        x = 300 + 44 * column
        body.append(f'<text x="{x}" y="142" transform="rotate(-55 {x} 142)">{mechanism}</text>')
    (out / "deadlocks.svg").write_text(svg(680, 170 + 22 * len(kernels), "Who hangs: H under all orders of sides, n/m under some", body))


def widths(folder, out):
    table = [row for row in rows(folder) if row["useful_lane_efficiency"] and row["verdict"] in ("ok", "order-dependent", "racy")]
    sizes = sorted({int(row["warp_size"]) for row in table})
    mechanisms = ["ipdom", "tf-stack", "convergence-barriers", "exec-mask", "compaction"]
    values = {(kernel(row), row["mechanism"], int(row["warp_size"])): float(row["useful_lane_efficiency"]) for row in table}
    whole = [k for k in sorted({key[0] for key in values}) if all((k, m, w) in values for m in mechanisms for w in sizes)]
    print(f"{len(whole)} kernels: {', '.join(whole)}\n")
    print("| W | " + " | ".join(f"`{m}`" for m in mechanisms) + " |\n|---" + "|---" * len(mechanisms) + "|")
    mean = lambda m, w: product([values[k, m, w] for k in whole]) if whole else 0
    for w in sizes:
        print(f"| {w} | " + " | ".join(f"{mean(m, w):.1f} %" for m in mechanisms) + " |")
    body = []
    for percent in range(0, 101, 20):
        y = 340 - 3 * percent
        body.append(f'<path d="M60 {y}h480" stroke="#ddd"/><text x="52" y="{y + 4}" text-anchor="end">{percent} %</text>')
    for index, m in enumerate(mechanisms):
        points = [(100 + 100 * i, 340 - 3 * mean(m, w)) for i, w in enumerate(sizes)]
        body.append(f'<polyline fill="none" stroke="{COLOURS[index]}" stroke-width="2" points="' + " ".join(f"{x},{y:.1f}" for x, y in points) + '"/>')
        body.append(f'<text x="560" y="{60 + 18 * index}" fill="{COLOURS[index]}">{m}: {mean(m, sizes[-1]):.1f} % at {sizes[-1]}</text>')
    for i, w in enumerate(sizes):
        body.append(f'<text x="{100 + 100 * i}" y="360" text-anchor="middle">{w}</text>')
    (out / "warp-sizes.svg").write_text(svg(760, 380, f"Useful lane efficiency by warp size, geometric mean of {len(whole)} kernels", body))


def product(numbers):
    result = 1.0
    for number in numbers:
        result *= max(number, 1e-3) ** (1 / len(numbers))
    return result


if __name__ == "__main__":
    source, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for name, draw in [("thread-frontiers", frontiers), ("deadlocks", deadlocks), ("warp-sizes", widths)]:
        print(f"\n## {name}\n")
        draw(source / name, target)
