"""How results look: bars as the command line prints them, and HTML for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Iterable, List, Sequence, Tuple

from ._errors import SimtlabError

if TYPE_CHECKING:
    from ._compare import Comparison
    from ._file import FileResult
    from ._module import Kernel, Result
    from ._stats import Stats

#: Causes of lane slots with their titles and colours: lanes that execute are dark, what is lost is light.
_CAUSES: Tuple[Tuple[str, str, str], ...] = (
    ("on", "on", "#2b6cb0"),
    ("predicated_off", "predicated off", "#90cdf4"),
    ("diverged", "diverged", "#dd6b20"),
    ("waiting", "waiting at sync", "#d69e2e"),
    ("exited", "exited", "#a0aec0"),
    ("never_launched", "never launched", "#cbd5e0"),
)

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_WIDTH = 34

_TABLE = 'style="border-collapse:collapse;font-size:90%"'
_CELL = "padding:1px 8px;text-align:right;white-space:nowrap"


class Shown:
    """What shows itself as its text."""

    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def bars(stats: "Stats") -> str:
    """Where the lanes went, as the command line prints it."""
    lines = [f"where the lanes went {stats.lane_slots:>{_WIDTH},} lane slots"]
    for name, title, _ in _CAUSES:
        count = stats.slots[name]
        share = count / stats.lane_slots if stats.lane_slots else 0.0
        whole, part = divmod(round(share * _WIDTH * 8), 8)
        bar = "█" * whole + (_EIGHTHS[part] if part else "")
        lines.append(f"{title:<16}{bar:<{_WIDTH}} {100 * share:>6.2f} % {count:>15,}")
    return "\n".join(lines)


def _bar(parts: Iterable[Tuple[str, float, str]]) -> str:
    cells = "".join(
        f'<div title="{html.escape(title)}: {100 * share:.2f} %" style="width:{100 * share:.3f}%;background:{colour}"></div>'
        for title, share, colour in parts
        if share > 0
    )
    return f'<div style="display:flex;height:14px;width:26em;background:#edf2f7">{cells}</div>'


def _shares(slots: Any, total: int) -> List[Tuple[str, float, str]]:
    return [(title, slots.get(name, 0) / total if total else 0.0, colour) for name, title, colour in _CAUSES]


def _legend() -> str:
    parts = (f'<span style="color:{colour}">&#9632;</span> {html.escape(title)}' for _, title, colour in _CAUSES)
    return f'<div style="font-size:80%">{" &nbsp; ".join(parts)}</div>'


def _wrapped(text: str) -> str:
    """Text that may go on in another line of its cell."""
    return f'<div style="white-space:normal;text-align:left;max-width:50em">{html.escape(text)}</div>'


def _row(cells: Sequence[Any], tag: str = "td") -> str:
    return "<tr>" + "".join(f'<{tag} style="{_CELL}">{cell}</{tag}>' for cell in cells) + "</tr>"


def stats(value: "Stats") -> str:
    """Statistics: the lanes, and the lines that lose most of them."""
    head = f"<div><b>{html.escape(value.kernel)}</b> {html.escape(value.summary()[len(value.kernel):])}</div>"
    lines = sorted(value.lines(), key=lambda line: line["lane_slots"] - line.get("on", 0), reverse=True)[:8]
    rows = [
        _row(
            [
                html.escape(f"{line['file'] or ''}:{line['line']}"),
                f"{line['issues']:,}",
                f"{100 * line.get('on', 0) / max(line['lane_slots'], 1):.1f} %",
                _bar(_shares(line, line["lane_slots"])),
            ]
        )
        for line in lines
    ]
    table = f"<table {_TABLE}>{_row(['line', 'issues', 'on', 'lanes'], 'th')}{''.join(rows)}</table>" if rows else ""
    return f"<div>{head}{_bar(_shares(value.slots, value.lane_slots))}{_legend()}{table}</div>"


def result(value: "Result") -> str:
    """A launch: its statistics, findings and output."""
    parts = [f"<div>{1e3 * value.seconds:.2f} ms, {html.escape(value.engine)} engine</div>"]
    if value.stats is not None:
        parts.append(stats(value.stats))
    for finding in value.findings:
        parts.append(f'<div style="color:#c53030">{html.escape(str(finding))}</div>')
    if value.output:
        parts.append(f"<pre>{html.escape(value.output[:4000])}</pre>")
    return f"<div>{''.join(parts)}</div>"


def file_result(value: "FileResult") -> str:
    """Launches of a launch file: whether expectations are met, what was told, the buffers, and the statistics of each launch."""
    met = '<span style="color:#2f855a">met</span>' if value.met else '<span style="color:#c53030">not met</span>'
    parts = [f"<div>machine {html.escape(value.machine)}, {html.escape(value.end)}, expectations {met}</div>"]
    if value.told:
        parts.append(f"<pre>{html.escape(value.told)}</pre>")
    parts += [stats(launch) for launch in value.launches]
    parts += [f'<div style="color:#c53030">{html.escape(str(finding))}</div>' for finding in value.findings]
    rows = [_row([html.escape(name), html.escape(f"{array.dtype} {list(array.shape)}")]) for name, array in value.buffers.items()]
    parts.append(f"<table {_TABLE}>{_row(['buffer', 'contents'], 'th')}{''.join(rows)}</table>")
    if value.output:
        parts.append(f"<pre>{html.escape(value.output[:4000])}</pre>")
    return f"<div>{''.join(parts)}</div>"


def comparison(value: "Comparison") -> str:
    """A comparison: a row for each run, with its lanes."""
    rows = []
    for row in value.rows:
        slots = row.get("lane_slots") or {}
        total = sum(count for count in slots.values() if isinstance(count, int))
        colour = "#2f855a" if row["verdict"] == "ok" else "#c53030"
        rows.append(
            _row(
                [
                    html.escape(str(row["mechanism"])),
                    row["warp_size"],
                    f'<span style="color:{colour}">{html.escape(str(row["verdict"]))}</span>',
                    f"{row.get('inst_executed') or row.get('issues') or 0:,}",
                    _bar(_shares(slots, total)),
                ]
            )
        )
    head = _row(["mechanism", "W", "verdict", "issues", "lanes"], "th")
    return f"<div><table {_TABLE}>{head}{''.join(rows)}</table>{_legend()}</div>"


def kernels(values: Iterable["Kernel"]) -> str:
    """Kernels with their parameters."""
    rows = [
        _row(
            [
                html.escape(kernel.name),
                _wrapped(", ".join(f"{p.type} {p.name}" for p in kernel.parameters)),
                f"{kernel.shared:,}",
                f"{kernel.local:,}",
            ]
        )
        for kernel in values
    ]
    return f"<table {_TABLE}>{_row(['kernel', 'parameters', 'shared', 'local'], 'th')}{''.join(rows)}</table>"


def plot(value: "Comparison", metric: str, axes: Any) -> Any:
    """A bar for each run."""
    try:
        from matplotlib import pyplot  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise SimtlabError("plot needs Matplotlib: pip install matplotlib") from error
    records = value.to_records()
    known = sorted(key for key, number in records[0].items() if isinstance(number, (int, float))) if records else []
    if records and metric not in records[0]:
        raise SimtlabError(f"rows have no number {metric!r}: they have {', '.join(known)}")
    if axes is None:
        _, axes = pyplot.subplots(figsize=(7, 0.3 * len(records) + 1))
    names = [f"{record['mechanism']} / {record['warp_size']}" for record in records]
    axes.barh(names, [record[metric] for record in records], color="#2b6cb0")
    axes.invert_yaxis()
    axes.set_xlabel(metric)
    return axes
