"""The concept map: what a content is about, one line per concept with what it is linked to.

Counts and copies only; two concepts are linked when one statement names both.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from hive_mind.model.content import Candidate

# A map is read at a glance. What is left out is counted on the last line.
_CONCEPTS_MAX = 40
_LINKS_MAX = 8


def concept_map(candidates: Sequence[Candidate], title: str = "") -> str:
    """One line per concept, the most often mentioned first; "" for no candidates."""
    counts: Counter[str] = Counter()
    links: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for candidate in candidates:
        counts[candidate.concept] += 1
        links[candidate.concept].update(name for name in candidate.entities if name != candidate.concept)
    lines = [_line(concept, counts[concept], links[concept]) for concept, _ in counts.most_common(_CONCEPTS_MAX)]
    if len(counts) > _CONCEPTS_MAX:
        lines.append(f"… and {len(counts) - _CONCEPTS_MAX} more concepts")
    return "\n".join([title, *lines] if title and lines else lines)


def _line(concept: str, count: int, links: Counter[str]) -> str:
    statements = "1 statement" if count == 1 else f"{count} statements"
    linked = ", ".join(name for name, _ in links.most_common(_LINKS_MAX))
    more = f", … {len(links) - _LINKS_MAX} more" if len(links) > _LINKS_MAX else ""
    return f"{concept} ({statements}): {linked}{more}" if linked else f"{concept} ({statements})"
