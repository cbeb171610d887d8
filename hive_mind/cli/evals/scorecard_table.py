"""A scorecard as a table of the terminal: what each arm finds, how far that is from one memory, and what it costs.

Commands load it when there is something to show.
"""

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console

from hive_mind.cli.options import Format
from hive_mind.cli.output import Cell, Styled, say, show, show_json, show_prose, show_table
from hive_mind.counted import counted, first_of
from hive_mind.evals.metrics import ANSWERS, metric_name
from hive_mind.evals.report.selecting import Setting, cell_name, money, number, settings_of, share
from hive_mind.evals.scorecard import CellCard, write_scorecard
from hive_mind.measure import JUDGED_MIN, Estimate

_GAP = 2
# A name that is longer goes on below: figures need the room.
_NAME_COLUMNS = 30

_NOTHING = "–"
# The columns that fit a terminal beside the costs.
_FOUND = ("recall", "ndcg")
_LEGEND = """\
Means over questions; in brackets their 95 % bootstrap intervals, drawn by conversation where the data has several. \
Δ: difference from single, paired by question; * marks those that are real (randomisation test, p < 0.05 after Holm's correction \
for all differences of the run). same: share of questions whose first {limit} facts are those of single, in order. messages, \
bytes: per question, replies included. asked: nodes. reached: share of the hive that answered. CPU, wall: medians in ms, of all \
members where they share a process."""


def show_wide_table(titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """A table of names and figures, in as many parts as fit the terminal's width."""
    if not sys.stdout.isatty():
        show_table(titles, rows, right=range(1, len(titles)))
        return
    widths = [max(map(cell_len, (titles[number], *(str(row[number]) for row in rows)))) for number in range(len(titles))]
    room = Console().width
    if sum(widths) + _GAP * (len(widths) - 1) <= room:
        show_table(titles, rows, right=range(1, len(titles)))
        return
    rows = [("\n".join(textwrap.wrap(str(row[0]), _NAME_COLUMNS)) or str(row[0]), *row[1:]) for row in rows]
    for place, part in enumerate(_parts([min(widths[0], _NAME_COLUMNS), *widths[1:]], room)):
        if place:
            show()
        part_rows = [[row[column] for column in (0, *part)] for row in rows]
        show_table([titles[column] for column in (0, *part)], part_rows, right=range(1, len(part) + 1))


def _parts(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Numbers of the columns that stand side by side, after the first, which is always there."""
    part: list[int] = []
    width = widths[0]
    for column in range(1, len(widths)):
        if part and width + _GAP + widths[column] > room:
            yield part
            part, width = [], widths[0]
        part.append(column)
        width += _GAP + widths[column]
    if part:
        yield part


def show_report(run: Path, output: Format) -> None:
    """Make scorecard and report of a run, and show the first. Raises `InvalidInput` where one can't be made."""
    from hive_mind.evals.report import write_report

    card = write_scorecard(run)
    page = write_report(run)
    if output is Format.JSON:
        show_json(card)
    else:
        # All of it: a table for each data set and way to rank, then cells without figures, and what the columns mean.
        for setting in settings_of(card):
            _show_setting(setting, card.limit)
            show()
        if card.without_figures:
            show(f"{len(card.without_figures)} of {len(card.cells)} cells have no figures", style="red")
            show_table(["cell", "", "why"], [(cell.id, cell.status, cell.why) for cell in card.without_figures])
            show()
        if card.done:
            show_prose(_LEGEND.format(limit=card.limit), style="dim")
    say(f"report: {page}")


def _show_setting(setting: Setting, limit: int) -> None:
    first = setting.cells[0]
    by = f", embedded by {first.embedding}" if first.embedding else ""
    show(f"{setting.name}{by}", style="bold")
    of_all = [reason for reason in first.left_out.items() if all(reason in cell.left_out.items() for cell in setting.cells)]
    left_out = "".join(f", left out: {count} {reason}" for reason, count in of_all)
    show(f"{setting.extent}{left_out}")
    names = [f"{name}@{limit}" for name in _FOUND]
    found = [title for name in names for title in (metric_name(name), "Δ")]
    titles = ["", *found, "same", "messages", "bytes", "asked", "reached", "CPU", "wall"]
    show_wide_table(titles, [_row(setting, cell, names) for cell in setting.cells])
    _show_answers(setting)
    if too_few := sorted({cell.questions for cell in setting.cells if cell.has_too_few_questions}):
        say(f"note: {counted(too_few[0], 'question')} can't be judged by: ask {JUDGED_MIN} or more", style="yellow")
    for cell in setting.cells:
        if cell.held is not None:
            say(stopped_note(cell.id, cell.stopped, cell.held), style="dim")
        for reason, count in cell.errors.items():
            say(f"note: {cell.id}: {counted(count, 'question')} without a result: {reason}", style="yellow")
        for reason, count in cell.left_out.items():
            if (reason, count) not in of_all:
                say(f"note: {cell.id}: left out: {count} {reason}", style="yellow")


def stopped_note(name: str, stopped: Sequence[str], held: float) -> str:
    """Says which part of a hive was measured: one draw, and not what a fleet of that shape does on average."""
    return f"{name}: stopped {first_of(stopped)}, as the seed chose; the nodes that run hold {held:.1%} of the hive"


def _row(setting: Setting, cell: CellCard, names: Sequence[str]) -> list[Cell]:
    cells: list[Cell] = [cell_name(cell, with_seed=setting.has_seeds)]
    for name in names:
        cells += [_with_interval(cell.metrics.get(name)), _difference(cell, name)]
    against, system = cell.against_single, cell.system
    cells.append(_share(against.identical_top_k if against else None))
    if system is None:
        return cells + [_NOTHING] * 6
    costs = (number(estimate.mean) for estimate in (system.messages, system.bytes, system.fan_out))
    return [*cells, *costs, _share(system.completeness), f"{system.cpu_ms.median:.2f}", f"{system.wall_ms.median:.2f}"]


def _show_answers(setting: Setting) -> None:
    """Show the metrics of answers, where somebody answered. A judge is named, because its figures are only its opinion."""
    names = [name for name in ANSWERS if any(name in cell.metrics for cell in setting.cells)]
    if not names:
        return
    answerers = ", ".join(dict.fromkeys(cell.answerer for cell in setting.cells if cell.answerer)) or "nobody"
    judges = ", ".join(dict.fromkeys(cell.judge for cell in setting.cells if cell.judge not in ("", "none")))
    has_cost = any(cell.system and (cell.system.tokens_in_total or cell.system.usd_total) for cell in setting.cells)
    show()
    show(f"answered by {answerers}" + (f", judged by {judges}" if judges else ""))
    rows = []
    for cell in setting.cells:
        row = [cell_name(cell, with_seed=setting.has_seeds), *(_with_interval(cell.metrics.get(name)) for name in names)]
        if has_cost and (system := cell.system):
            row += [number(system.tokens_in_total + system.tokens_out_total), money(system.usd_total)]
        elif has_cost:
            row += [_NOTHING, _NOTHING]
        rows.append(row)
    titles = ["", *map(metric_name, names), *(("tokens", "dollars") if has_cost else ())]
    show_wide_table(titles, rows)


def _with_interval(estimate: Estimate | None) -> str:
    return _NOTHING if estimate is None else f"{estimate.mean:.3f} [{estimate.low:.3f}–{estimate.high:.3f}]"


def _difference(cell: CellCard, name: str) -> Cell:
    difference = cell.against_single.metrics.get(name) if cell.against_single else None
    if difference is None:
        return _NOTHING
    style = ("green" if difference.difference > 0 else "red") if difference.is_real else ""
    return Styled(f"{difference.difference:+.3f}{'*' if difference.is_real else ' '}", style)


def _share(estimate: Estimate | None) -> str:
    return _NOTHING if estimate is None else share(estimate.mean)
