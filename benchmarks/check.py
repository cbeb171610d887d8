"""Did anything get worse? Compares the ratios of a new run with those in ratios.json; ends with 1 where one got worse.

Only ratios are compared, never times: both sides of a ratio were measured in turn by the same process. Every figure is measured
in several rounds, and in several runs where it was stored so; a change counts when every new ratio is worse than every stored
one, and their medians are a twentieth apart at least: the rounds of one process share its luck with addresses and caches. If
nothing changed, five rounds against five do the first once in 252 times by chance; so run it again before you believe it. What
has no chance in it, as bytes, counts when it changes for the worse at all.

    python -m benchmarks.check --data DATA --cache FOLDER [--only merge bus …] [--runs 2]     # measures, compares
    python -m benchmarks.check --data DATA --cache FOLDER --former FORMER                     # compares two states of the project
    python -m benchmarks.check --new FILE                                                     # compares what evidence.py wrote
    python -m benchmarks.check --data DATA --cache FOLDER --runs 3 --update                   # measures, stores
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.evidence import HOME, arguments, measured, measured_in
from benchmarks.figure import Figure, Written, read, write
from benchmarks.harness import number, parser_of

LEAST_CHANGE = 1.05
STORED = Path(__file__).with_name("ratios.json")
Verdict = Literal["worse", "better", "same", "new", "gone"]


@dataclass(frozen=True)
class Compared:
    """One figure then and now; None where it was not measured."""

    name: str
    then: Figure | None
    now: Figure | None
    verdict: Verdict

    @property
    def is_bad(self) -> bool:
        """Whether somebody must look at it. A figure that is gone may hide anything."""
        return self.verdict in ("worse", "gone")


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--new", type=Path, help="a file of figures; nothing is measured")
    parser.add_argument("--stored", type=Path, default=STORED, help="what to compare with")
    parser.add_argument("--former", type=Path, help="folder of another state of the project, measured in turn and compared with")
    parser.add_argument("--update", action="store_true", help="store the new ratios instead")
    options = arguments(parser)
    if options.former:
        former, now = measured_in([options.former.resolve(), HOME], options)
        return report(compare(former, now), now.failed | former.failed)
    written = read(options.new) if options.new else measured(options)
    if options.update:
        return update(options.stored, written)
    if not options.stored.is_file():
        print(f"no ratios in {options.stored}: store some with --update", file=sys.stderr)
        return 2
    return report(compare(stored_for(read(options.stored), options), written), written.failed)


def stored_for(stored: Written, options: argparse.Namespace) -> Written:
    """Of what is stored, what a run of these kinds of work would measure."""
    wanted = set(options.only)
    return Written(tuple(one for one in stored.figures if one.command.rpartition(" ")[2] in wanted), stored.load)


def compare(stored: Written, new: Written) -> list[Compared]:
    """Every figure of either, those stored first."""
    then, now = by_name(stored.figures), by_name(new.figures)
    return [compared(name, then.get(name), now.get(name)) for name in dict.fromkeys((*then, *now))]


def by_name(figures: Iterable[Figure]) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures}


def compared(name: str, then: Figure | None, now: Figure | None) -> Compared:
    if then is None or now is None:
        return Compared(name, then, now, "gone" if now is None else "new")
    least = 1.0 if now.is_exact else LEAST_CHANGE
    is_above = min(now.ratios) > max(then.ratios) and now.ratio >= then.ratio * least
    is_below = max(now.ratios) < min(then.ratios) and now.ratio * least <= then.ratio
    if now.better == "higher":
        is_above, is_below = is_below, is_above
    return Compared(name, then, now, "worse" if is_above else "better" if is_below else "same")


def update(file: Path, written: Written) -> int:
    """Figures of a part replace those of the same name; refuses a run in which something failed."""
    if written.failed:
        print(f"nothing stored: not measured: {', '.join(written.failed)}", file=sys.stderr)
        return 1
    before = read(file) if file.is_file() else Written(())
    write(file, Written(tuple((by_name(before.figures) | by_name(written.figures)).values()), written.load))
    print(f"{len(written.figures)} ratios stored in {file}")
    return 0


def report(rows: Iterable[Compared], failed: dict[str, str]) -> int:
    """Prints what changed and how much noise there is; gives the code to end with."""
    rows = list(rows)
    print(f"{'figure':40}{'then':>28}{'now':>28}  verdict")
    for line in lines(rows):
        print(line)
    for work, why in failed.items():
        print(f"not measured: {work}: {why}")
    bad = [row.name for row in rows if row.is_bad]
    print(f"\nworse or gone: {', '.join(bad)}" if bad else "\nnothing got worse beyond its noise")
    return bool(bad or failed)


def lines(rows: Iterable[Compared]) -> Iterator[str]:
    for row in rows:
        change = (
            f" ({row.now.ratio / row.then.ratio - 1:+.0%})" if row.then and row.now and row.verdict in ("worse", "better") else ""
        )
        yield f"{row.name:40}{told(row.then):>28}{told(row.now):>28}  {row.verdict}{change}"


def told(figure: Figure | None) -> str:
    if figure is None:
        return "–"
    return f"{number(figure.ratio)} [{number(min(figure.ratios))}, {number(max(figure.ratios))}]"


if __name__ == "__main__":
    sys.exit(main())
