"""What the gate keeps home and what it lets out, counted on labelled sentences of several languages.

    python -m benchmarks.gate [--wrong]

`tests/data/gate` has six parts. Patterns and word lists were tuned on `development`; `held_out` was counted while that went
on, and six misses of it were looked at; `unseen` was written when nothing was tuned any more and counted once, so it says what
to expect. `disguised` has numbers in other scripts and between markup, combinations in words, and secrets in seventeen languages;
it was tuned on, too.
`masked` (35 disguised secrets of fifteen languages, 36 statements like them) was written before the code that it tries was looked
at: 7 and 0 were decided wrongly. `masked_fresh` was counted when what that showed was mended: 3 and 1. Both are mended since.
`--wrong` shows the sentences of `development` that are decided wrongly.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import json_lines, parser_of
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.promotion import decide
from hive_mind.model.fact import Fact

FOLDER = Path(__file__).parents[1] / "tests/data/gate"
PARTS = ("development", "held_out", "unseen", "disguised", "masked", "masked_fresh")
PRIVATE = ("password", "code", "key", "login", "vendor", "personal")
# Where a key would be taken for a real one by those who scan repositories, the files have this in the middle of it.
BREAK = "¦"


class Sentence(NamedTuple):
    """One sentence and what it is: of a kind that is private, "junk" or "harmless"."""

    kind: str
    language: str
    text: str


class Figures(NamedTuple):
    """How many of how many, for each kind that must stay and for the harmless that must not."""

    kept: Counter[str]
    all: Counter[str]

    def share(self, *kinds: str) -> float:
        """1 where there are none of these kinds."""
        every = sum(self.all[kind] for kind in kinds)
        return sum(self.kept[kind] for kind in kinds) / every if every else 1.0


def sentences(part: str) -> list[Sentence]:
    rows = json_lines(FOLDER / f"{part}.jsonl")
    return [Sentence(row["kind"], row["language"], row["text"].replace(BREAK, "")) for row in rows]


def is_kept(sentence: Sentence) -> bool:
    """Whether it stays home, and for the right reason where it is private."""
    fact = Fact("f", sentence.text, "", 0.9, ("note",), 0)
    reason = decide(fact, PromotionSettings()).reason
    return "holds" in reason if sentence.kind in PRIVATE else bool(reason)


def figures(told: Sequence[Sentence]) -> Figures:
    return Figures(Counter(one.kind for one in told if is_kept(one)), Counter(one.kind for one in told))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--wrong", action="store_true", help="show what is decided wrongly in the development part")
    is_shown = parser.parse_args().wrong
    print(f"{'part':12} {'sentences':>9} {'private kept':>13} {'harmless kept':>14} {'junk kept':>10}")
    for part in PARTS:
        told = sentences(part)
        found = figures(told)
        shares = found.share(*PRIVATE), found.share("harmless"), found.share("junk")
        print(f"{part:12} {len(told):9} {shares[0]:13.1%} {shares[1]:14.1%} {shares[2]:10.1%}")
        print("   ", ", ".join(f"{kind} {found.kept[kind]}/{found.all[kind]}" for kind in sorted(found.all)))
    for one in sentences(PARTS[0]) if is_shown else ():
        if is_kept(one) == (one.kind == "harmless"):
            print(f"{one.kind:9} {one.language} {one.text}")


if __name__ == "__main__":
    main()
