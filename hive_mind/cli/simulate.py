"""`hive-mind simulate`: run whole hives under every fault, in virtual time, and look whether a promise is broken.

Each seed is a run of its own, so several processes can share them. A broken promise is shown with the one command that
repeats it.

With `--plot`, how they agree over virtual time is drawn.
"""

import shlex
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Annotated, NamedTuple

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, examples
from hive_mind.cli.output import (
    picture_kind,
    progress,
    say,
    show,
    show_result,
    show_table,
    spell_out_unknown_characters,
    write_picture,
)
from hive_mind.cli.running import FAILED, ending_signals, exit_codes
from hive_mind.drawing import COLOURS, MARKERS
from hive_mind.errors import InvalidInput
from hive_mind.sim import FAULTS, TOPOLOGIES, parse
from hive_mind.sim.run import OPERATIONS, SimulationPlan, SimulationReport, run

# Of a line; more of them hide it.
_MARKS = 12


@dataclass(frozen=True, slots=True)
class Curve:
    """A topology, and points of minute, median and worst share."""

    name: str
    points: tuple[tuple[float, float, float], ...]


def curve(name: str, runs: Sequence[Sequence[tuple[float, float]]]) -> Curve:
    """The curve of runs of (minute, share). Their clocks agree but for stalls: what lies further than most is left out."""
    shares: defaultdict[float, list[float]] = defaultdict(list)
    for points in runs:
        for minute, share in points:
            shares[round(minute * 2) / 2].append(share)
    # A run that slept for hours has points where no other has any.
    common = sorted(minute for minute, values in shares.items() if 2 * len(values) >= len(runs))
    return Curve(name, tuple((minute, median(shares[minute]), min(shares[minute])) for minute in common))


def drawn(curves: Sequence[Curve], kind: str = "svg") -> bytes:
    """The picture as "svg" or "png". Needs the extra `plots`."""
    from hive_mind.drawing import as_file, canvas, entitle

    title, caption = "Share of facts that all their holders hold", "median, and down to the worst run"
    with canvas(4.3, 8) as figure:
        axes = figure.subplots()
        entitle(axes, title, caption)
        for curve in filter(lambda curve: curve.points, curves):
            minutes, middle, worst = zip(*curve.points, strict=True)
            colour, every = COLOURS[curve.name].light, max(1, len(minutes) // _MARKS)
            axes.fill_between(minutes, worst, middle, color=colour, alpha=0.12, linewidth=0)
            axes.plot(minutes, middle, MARKERS[curve.name], color=colour, linestyle="-", markevery=every, label=curve.name)
        axes.set(xlabel="minutes of virtual time", ylim=(0, 1.02))
        if axes.lines:
            axes.legend(loc="lower right")
        return as_file(figure, kind, title, caption)


_EPILOG = examples(
    "hive-mind simulate --topology flat,federated,sharded --seeds 0:500",
    "hive-mind simulate --topology sharded --seeds 0:50 --faults loss,partition --plot convergence.svg",
)

# Handing over a run costs as much as a small part of one; more at once and progress comes in jumps.
_SEEDS_AT_ONCE = 5
_SHOWN_MAX = 5


@dataclass
class Totals:
    """One topology's row of the table."""

    topology: str
    seeds: int = 0
    virtual_ms: int = 0
    events: int = 0
    messages: int = 0
    seconds: float = 0.0
    broken: list[SimulationReport] = field(default_factory=list)
    samples: list[tuple[tuple[float, float], ...]] = field(default_factory=list)

    def add(self, report: SimulationReport, seconds: float) -> None:
        """Count one run. `seconds` is processor time."""
        self.seeds += 1
        self.virtual_ms += report.virtual_ms
        self.events += report.events
        self.messages += report.messages
        self.seconds += seconds
        self.samples.append(report.samples)
        if report.violation is not None:
            self.broken.append(report)


class _Order(NamedTuple):
    """The settings of every run, from the command line."""

    nodes: int
    faults: str
    operations: int


group = Group()


@group.command(epilog=_EPILOG)
def simulate(
    topology: Annotated[str, typer.Option(help=f"{', '.join(TOPOLOGIES)}; several with commas.")] = ",".join(TOPOLOGIES),
    nodes: Annotated[int, typer.Option(min=0, max=200, help="Nodes of a hive; 0: as many as suit the topology.")] = 0,
    seeds: Annotated[
        str, typer.Option(help="First seed and the one after the last, as 0:500, or a number of them from 0.")
    ] = "0:100",
    faults: Annotated[str, typer.Option(help=f"all, none, or some of {', '.join(FAULTS)} with commas.")] = "all",
    ops: Annotated[int, typer.Option(min=1, max=100_000, help="Operations of a run before everything heals.")] = OPERATIONS,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Draw agreement over virtual time: an SVG or PNG file.")] = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Simulate hives under faults; exit code 1 and the command that repeats it when one breaks a promise."""
    spell_out_unknown_characters()
    with exit_codes() as ending:
        totals = [Totals(name) for name in _topologies(topology)]
        first, end = _range(seeds)
        order = _Order(nodes, faults, ops)
        parse(faults)
        # A missing plotting library is reported before hours of simulation, not after.
        kind = picture_kind(plot)
        is_stopped = _run_all(totals, range(first, end), order, jobs)
        document = {"rows": [_row(total, order) for total in totals], "stopped": is_stopped}
        show_result(output, document, lambda: _show(totals, order))
        if plot is not None:
            write_picture(plot, drawn([curve(total.topology, total.samples) for total in totals if total.samples], kind))
    broken = any(total.broken for total in totals)
    if is_stopped or broken:
        raise typer.Exit(FAILED if broken else ending.code)


def _run_all(totals: Sequence[Totals], seeds: range, order: _Order, jobs: int) -> bool:
    """Run everything; whether Ctrl-C ended it before."""
    number, total = 0, len(totals) * len(seeds)
    try:
        with progress("runs") as report, _workers(jobs) as workers:
            for sums in totals:
                for outcome, seconds in _reports(sums.topology, seeds, order, workers):
                    sums.add(outcome, seconds)
                    number += 1
                    broken = sum(len(sums.broken) for sums in totals)
                    report(number, total, f"{broken} broken" if broken else "no promise broken")
    except KeyboardInterrupt:
        say(f"stopped after {number} of {total} runs")
        return True
    return False


@contextmanager
def _workers(jobs: int) -> Iterator[Executor | None]:
    """Processes, or none where this one does it all. Those that are at work when the caller stops are not waited for."""
    if jobs == 1:
        yield None
        return
    pool = ProcessPoolExecutor(jobs, initializer=_ignore_interrupts)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    # Python 3.11 now and then prints a traceback at its end where this does not wait.
    pool.shutdown()


def _reports(topology: str, seeds: range, order: _Order, workers: Executor | None) -> Iterator[tuple[SimulationReport, float]]:
    plans = [SimulationPlan(topology, seed, parse(order.faults), order.operations, order.nodes) for seed in seeds]
    if workers is None:
        yield from map(timed_run, plans)
    else:
        yield from workers.map(timed_run, plans, chunksize=_SEEDS_AT_ONCE)


def timed_run(plan: SimulationPlan) -> tuple[SimulationReport, float]:
    """One run and its processor time in seconds; a worker process finds it by this name."""
    start = time.process_time()
    return run(plan, Random), time.process_time() - start


def _ignore_interrupts() -> None:
    """Ctrl-C, and a terminal that closes, go to the whole group of processes; only the first one answers."""
    import signal

    for number in ending_signals():
        signal.signal(number, signal.SIG_IGN if number is not signal.SIGTERM else signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _topologies(text: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if unknown := [name for name in names if name not in TOPOLOGIES]:
        raise InvalidInput(f"topology {unknown[0]!r} can't be simulated: choose from {', '.join(TOPOLOGIES)}")
    if not names:
        raise InvalidInput(f"which topology? choose from {', '.join(TOPOLOGIES)}")
    return names


def _range(text: str) -> tuple[int, int]:
    first, colon, end = text.partition(":")
    numbers = (first, end) if colon else ("0", first)
    if not all(number.isascii() and number.isdigit() for number in numbers) or int(numbers[0]) >= int(numbers[1]):
        raise InvalidInput(f"--seeds is like 0:500 (0 to 499) or 500, not {text!r}")
    return int(numbers[0]), int(numbers[1])


def repeat_command(report: SimulationReport, faults: str) -> str:
    plan = report.plan
    parts = ["hive-mind", "simulate", "--topology", plan.topology, "--seeds", f"{plan.seed}:{plan.seed + 1}", "--faults", faults]
    if plan.nodes:
        parts += ["--nodes", str(plan.nodes)]
    if plan.operations != OPERATIONS:
        parts += ["--ops", str(plan.operations)]
    return shlex.join(parts)


def _row(totals: Totals, order: _Order) -> dict[str, object]:
    points = curve(totals.topology, totals.samples).points if totals.samples else ()
    return {
        "topology": totals.topology,
        "seeds": totals.seeds,
        "violations": len(totals.broken),
        "virtual_hours": round(totals.virtual_ms / 3_600_000, 2),
        "events": totals.events,
        "messages": totals.messages,
        "cpu_seconds": round(totals.seconds, 3),
        "broken": [_broken(report, order) for report in totals.broken],
        "convergence": [{"minute": minute, "median": median, "worst": worst} for minute, median, worst in points],
    }


def _broken(report: SimulationReport, order: _Order) -> dict[str, object]:
    violation = report.violation
    return {
        "seed": report.plan.seed,
        "invariant": violation.invariant if violation else "",
        "what": violation.what if violation else "",
        "repeat": repeat_command(report, order.faults),
    }


def _show(totals: Sequence[Totals], order: _Order) -> None:
    titles = ("topology", "seeds", "violations", "virtual hours", "events", "messages", "CPU s", "seeds/s")
    show_table(titles, [_cells(total) for total in totals], right=range(1, len(titles)))
    for sums in totals:
        for report in sums.broken[:_SHOWN_MAX]:
            violation = report.violation
            show()
            show(f"{sums.topology}, seed {report.plan.seed}: {violation and violation.invariant}", style="red")
            show(f"  {violation and violation.what}")
            show(f"  again: {repeat_command(report, order.faults)}")


def _cells(sums: Totals) -> tuple[str, ...]:
    rate = f"{sums.seeds / sums.seconds:.1f}" if sums.seconds else "–"
    hours = f"{sums.virtual_ms / 3_600_000:,.1f}"
    figures = (
        str(sums.seeds),
        str(len(sums.broken)),
        hours,
        f"{sums.events:,}",
        f"{sums.messages:,}",
        f"{sums.seconds:.1f}",
        rate,
    )
    return (sums.topology, *figures)
