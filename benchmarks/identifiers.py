"""A hundred queries that name one thing exactly, and a corpus of near-misses; from a seed.

Each target has four or five neighbours that share most of its characters: the next number, a digit more, a digit less, another
year. Half of the near-misses have more of the query's other words than the target.
"""

import random
from dataclasses import dataclass

CODES, SECTIONS, FLAWS, ADDRESSES, QUOTED = 20, 20, 20, 20, 20

_ABOUT = "pump valve door roof motor relay filter ladder boiler cable fan hatch gauge winch".split()
_DONE = ["was replaced", "leaks when it is cold", "needs a new seal", "was painted", "is loud", "passed its inspection"]
_ASKED = ["{}", "{}?", "Tell me about {}", "What do we know of {}?", "Explain {}", "what was {} last week", "Who worked on {}?"]
_ADJECTIVES = ["red", "quiet", "broken", "northern", "hidden", "silver", "hollow", "second", "iron", "pale"]
_NOUNS = ["lantern", "harbour", "orchard", "bridge", "meadow", "engine", "library", "garden", "tower", "river"]

_SYLLABLES = "ka lo mi ra ve zu or an el tis".split()


@dataclass(frozen=True)
class Case:
    """A query and the one text that names what it asks for."""

    kind: str
    query: str
    target: str


@dataclass(frozen=True)
class IdentifierSet:
    """Texts by id, and what is asked."""

    texts: dict[str, str]
    cases: list[Case]


def identifiers(seed: int = 7) -> IdentifierSet:
    """The same for the same seed."""
    rng = random.Random(seed)
    texts: dict[str, str] = {}
    cases: list[Case] = []
    taken: set[str] = set()
    for kind, count in (("code", CODES), ("section", SECTIONS), ("cve", FLAWS), ("ip", ADDRESSES), ("quoted", QUOTED)):
        while count:
            name, near = _family(kind, rng)
            if taken & {name, *near}:
                continue
            taken |= {name, *near}
            query = rng.choice(_ASKED).format(f'"{name}"' if kind == "quoted" else name)
            target = _add(texts, name, rng)
            for other in near:
                _add(texts, other, rng)
                # Talks like the query and names something else.
                if rng.random() < 0.5:
                    _add(texts, other, rng, query.replace(name, other) + " ")
            cases.append(Case(kind, query, target))
            count -= 1
    shuffled = list(texts.items())
    rng.shuffle(shuffled)
    return IdentifierSet(dict(shuffled), cases)


def _add(texts: dict[str, str], name: str, rng: random.Random, before: str = "") -> str:
    id = f"{rng.getrandbits(48):012x}"
    thing, other = rng.sample(_ABOUT, 2)
    done, also = rng.choices(_DONE, k=2)
    texts[id] = f"{before}The {thing} of {name} {done}. The {other} {also} last week, and we worked on it."
    return id


def _family(kind: str, rng: random.Random) -> tuple[str, list[str]]:
    number = rng.randrange(12, 890)
    match kind:
        case "code":
            letter = rng.choice("ABCDEFGHKLMNPRTUVWXYZ")
            near = [f"{letter}{n}" for n in (number + 1, number * 10, number // 10, number + 10)]
            return f"{letter}{number}", [*near, f"Q{letter}{number}"]
        case "section":
            part, of = rng.randrange(20, 90), rng.randrange(1000, 1900)
            near = [f"30 CFR {part}.{n}" for n in (of + 1, of // 10, of * 10)]
            return f"30 CFR {part}.{of}", [*near, f"30 CFR {part + 1}.{of}", f"31 CFR {part}.{of + 2}"]
        case "cve":
            year, of = rng.randrange(2010, 2024), rng.randrange(1000, 9990)
            near = [f"CVE-{year}-{n}" for n in (of + 1, of * 10, of // 10)]
            return f"CVE-{year}-{of}", [*near, f"CVE-{year + 1}-{of}", f"{year}-{of + 3}"]
        case "ip":
            a, b = rng.randrange(1, 20), rng.randrange(10, 25)
            near = [f"10.{a}.1.{n}" for n in (b + 1, b * 10, b // 10)]
            return f"10.{a}.1.{b}", [*near, f"10.{a}.2.{b}", f"11.{a}.1.{b}"]
        case _:
            first, noun = rng.sample(_ADJECTIVES, 2), rng.sample(_NOUNS, 2)
            who = "".join(rng.choices(_SYLLABLES, k=3)).capitalize()
            near = [f"{first[1]} {noun[0]} of {who}", f"{first[0]} {noun[1]} of {who}", f"{noun[0]} {first[0]}ish of {who}"]
            return f"{first[0]} {noun[0]} of {who}", [*near, f"{first[0]} {noun[0]} of {who}en"]
