"""Which pairs of statements are called contradictory, counted on labelled pairs.

    python -m benchmarks.disputes [--wrong]

`tests/data/disputes` has three parts. The rules of `hive/contradiction` and `hive/wording` were tuned on `development`;
`held_out` was counted meanwhile; `unseen` was written when nothing was tuned any more and counted once, so it says what to
expect. `--wrong` shows the pairs of `development` that are decided wrongly.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import json_lines, parser_of
from hive_mind.hive.trust.contradiction import conflicts
from hive_mind.model.evidence import Statement

FOLDER = Path(__file__).parents[1] / "tests/data/disputes"
PARTS = ("development", "held_out", "unseen")


class Pair(NamedTuple):
    """Two statements about one concept, and whether they can't both be true."""

    one: str
    other: str
    concept: str
    conflict: bool


class Figures(NamedTuple):
    """How many pairs are called contradictory: rightly, wrongly, and of how many that are."""

    right: int
    wrong: int
    conflicts: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / self.conflicts


def pairs(part: str) -> list[Pair]:
    return [Pair(**row) for row in json_lines(FOLDER / f"{part}.jsonl")]


def is_disputed(pair: Pair) -> bool:
    return conflicts(Statement(pair.one, pair.concept), Statement(pair.other, pair.concept))


def figures(told: Sequence[Pair]) -> Figures:
    called = [pair for pair in told if is_disputed(pair)]
    right = sum(pair.conflict for pair in called)
    return Figures(right, len(called) - right, sum(pair.conflict for pair in told))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--wrong", action="store_true", help="show what is decided wrongly in the development part")
    is_shown = parser.parse_args().wrong
    print(f"{'part':12} {'pairs':>6} {'contradictory':>14} {'precision':>10} {'recall':>8}")
    for part in PARTS:
        told = pairs(part)
        found = figures(told)
        print(f"{part:12} {len(told):6} {found.conflicts:14} {found.precision:10.1%} {found.recall:8.1%}")
    for pair in pairs(PARTS[0]) if is_shown else ():
        if is_disputed(pair) != pair.conflict:
            print("missed" if pair.conflict else "false ", pair.one, "|", pair.other)


if __name__ == "__main__":
    main()
