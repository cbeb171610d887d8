"""The table of README.md, row by row: what we measure, what we compare it with in the same run, the ratio, and the target.

Each kind of work runs in a process of its own, one thread for numpy, so that nothing of one is warm in the next. A quick form: a
few minutes on a quiet machine, and embedding 100,000 sentences before (15 minutes), once for each cache folder.

    python -m benchmarks.evidence --data DATA --cache FOLDER [--only merge bus …] [--runs 3] [--json FILE]
    python -m benchmarks.evidence --show benchmarks/ratios.json
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import cast

from benchmarks.figure import Figure, Means, Written, read, signed, together, write
from benchmarks.harness import number, parser_of
from hive_mind.errors import HiveError

# A module of `benchmarks.table` and its function, in the order of the table. Each says why its peer or limit is a fair one.
WORK = {
    "search": "searching:measured",
    "federated": "asking:federated",
    "sharded": "asking:sharded",
    "silent": "asking:silent",
    "merge": "replicas:merging",
    "removed": "replicas:removing",
    "gossip": "replicas:gossiping",
    "bus": "publishing:measured",
    "store": "keeping:storing",
    "memory-search": "keeping:searching",
    "memory": "waking:measured",
    "answerable": "answerable:measured",
}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
HOME = Path(__file__).resolve().parents[1]
LATEST = Path(".cache/benchmarks/evidence.json")


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--show", type=Path, help="measure nothing, show a file of figures, such as benchmarks/ratios.json")
    options = arguments(parser)
    if options.here:
        return measured_here(options.only[0], Means(options.data, options.cache, options.rounds), options.json)
    if options.show:
        print("\n".join(table(read(options.show))))
        return 0
    written = measured(options)
    print("\n".join(table(written)))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    write(options.json, written)
    print(f"\nwritten to {options.json}", file=sys.stderr)
    return bool(written.failed)


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    parser.add_argument("--data", type=Path, help="folder with *.corpus.jsonl and locomo/")
    parser.add_argument("--cache", type=Path, default=Path(".cache/benchmarks"), help="folder for embeddings")
    parser.add_argument("--only", nargs="+", choices=WORK, default=list(WORK), metavar="WORK", help=f"of {', '.join(WORK)}")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of ours and the peer's in turn")
    parser.add_argument("--runs", type=int, default=1, help="so many runs of everything, in fresh processes")
    parser.add_argument("--json", type=Path, default=LATEST, help="where figures are written")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measured_here(work: str, means: Means, file: Path) -> int:
    """In this process. What can't be measured says why, and the rest goes on."""
    module, _, name = WORK[work].partition(":")
    function = cast(Callable[[Means], Iterable[Figure]], getattr(import_module(f"benchmarks.table.{module}"), name))
    try:
        figures = tuple(function(means))
    except HiveError as error:
        write(file, Written((), failed={work: str(error)}))
        return 1
    write(file, Written(figures))
    return 0


def measured(options: argparse.Namespace) -> Written:
    (written,) = measured_in([HOME], options)
    return written


def measured_in(homes: Sequence[Path], options: argparse.Namespace) -> list[Written]:
    """The figures of each state of the project. Work by work in turn: so that all of them see the same machine and hour."""
    before = os.getloadavg()[0]
    runs: list[list[list[Figure]]] = [[] for _ in homes]
    failed: list[dict[str, str]] = [{} for _ in homes]
    for _, work, (place, home) in product(range(options.runs), options.only, enumerate(homes)):
        print(f"measuring {work}{f' in {home}' if home != HOME else ''} …", file=sys.stderr, flush=True)
        done = in_a_process(work, home, options)
        runs[place].append(signed(done.figures, f"python -m benchmarks.evidence --only {work}"))
        failed[place] |= done.failed
    load = (before, os.getloadavg()[0])
    return [Written(tuple(together(figures)), load, why) for figures, why in zip(runs, failed, strict=True)]


def in_a_process(work: str, home: Path, options: argparse.Namespace) -> Written:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        given = ["--only", work, "--cache", str(options.cache.resolve()), "--rounds", str(options.rounds), "--json", str(file)]
        given += ["--data", str(options.data.resolve())] if options.data else []
        command = [sys.executable, "-m", "benchmarks.evidence", "--here", *given]
        env = os.environ | ONE_THREAD | {"PYTHONPATH": str(home)}
        code = subprocess.run(command, cwd=home, env=env, check=False, stdout=sys.stderr).returncode
        return read(file) if file.is_file() else Written((), failed={work: f"ended with {code}; see above"})


def table(written: Written) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| work | ours | target | beside it, same run | ratio | of the rounds | `--only` | date |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from (f"| {' | '.join(cells(figure))} |" for figure in written.figures)
    for machine in dict.fromkeys(figure.machine for figure in written.figures):
        yield f"\n{machine}; {written.load[0]:.1f} processes busy before, {written.load[1]:.1f} after."
    yield from (f"\nnot measured: {work}: {why}" for work, why in written.failed.items())


def cells(figure: Figure) -> Sequence[str]:
    target = "" if figure.target is None else f"{'≤' if figure.better == 'lower' else '≥'} {number(figure.target)}"
    missed = ", **missed**" if figure.is_met is False else ""
    low, high = min(figure.ratios), max(figure.ratios)
    spread = f"{number(low)}–{number(high)}" if high > low else "one" if len(figure.ratios) == 1 else "all the same"
    return (
        figure.what,
        f"**{number(figure.value)}** {figure.unit}".rstrip(),
        target + missed,
        f"{figure.peer}: {number(figure.peer_value)}",
        f"× {number(figure.ratio)}",
        spread,
        figure.command.rpartition(" ")[2],
        figure.date,
    )


if __name__ == "__main__":
    sys.exit(main())
