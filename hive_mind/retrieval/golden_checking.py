"""What is wrong with a golden set whose form is right: labels that contradict each other, documents that are not there. Pure."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Collection as Some
from difflib import get_close_matches
from itertools import islice

from hive_mind.forms.finding import Finding
from hive_mind.forms.tree import Path
from hive_mind.retrieval.golden import QUESTIONS_MIN, Golden, GoldenQuery

# Comparing letter by letter with ten thousand names takes seconds.
_COMPARED_MAX = 2000


def golden_findings(golden: Golden, documents: Some[str], left_out: Mapping[str, str]) -> Iterator[Finding]:
    """All of it. `documents` are the ids there are, `left_out` those that no index takes, with why."""
    yield from _repeated(golden)
    for number, query in enumerate(golden.queries):
        yield from _labels(("queries", number), query, documents, left_out)
    yield from _split(golden)
    yield from _whole(golden)


def _repeated(golden: Golden) -> Iterator[Finding]:
    given = ("id", lambda one: one.id), ("query", lambda one: " ".join(one.query.casefold().split()))
    told: dict[str, Callable[[GoldenQuery], str]] = dict(given)
    for field, value_of in told.items():
        first: dict[str, int] = {}
        for number, query in enumerate(golden.queries):
            value = value_of(query)
            if value and value in first:
                other = f"queries[{first[value]}]"
                what = f"{query.id} is also the id of {other}" if field == "id" else f"is the same question as {other}"
                yield Finding(("queries", number, field), f"{what}; give it another, or remove it")
            first.setdefault(value, number)


def _labels(path: Path, query: GoldenQuery, documents: Some[str], left_out: Mapping[str, str]) -> Iterator[Finding]:
    if not query.query.strip():
        yield Finding((*path, "query"), "is empty; give it a value")
    if not query.relevant and not query.distractors:
        yield Finding(path, "names neither relevant documents nor distractors, so nothing can be measured; name some")
    for field, names in (("relevant", query.relevant), ("distractors", query.distractors)):
        before: set[str] = set()
        for number, name in enumerate(names):
            if name in left_out:
                yield Finding((*path, field, number), f"{name} can't be found: it {left_out[name]}; mend it, or take it out")
            elif told := _wrong(name, before, documents):
                yield Finding((*path, field, number), told)
            before.add(name)
    relevant = set(query.relevant)
    for number, name in enumerate(query.distractors):
        if name in relevant:
            told = f"{name} is relevant too, in queries[{path[-1]}].relevant; a document is one or the other"
            yield Finding((*path, "distractors", number), told)


def _wrong(name: str, before: Some[str], documents: Some[str]) -> str:
    if name in before:
        return f"{name} stands in the list twice; keep one of them"
    if name in documents:
        return ""
    if name.startswith(("/", "~")) or ".." in name.replace("\\", "/").split("/"):
        return "leads out of the collection's folder; name documents by their path below it"
    close = get_close_matches(name[:200], list(islice(documents, _COMPARED_MAX)), n=1)
    meant = f"did you mean {close[0]}?" if close else "correct its path below the collection's folder, or take it out"
    return f"there is no document {name[:80]}; {meant}"


def _split(golden: Golden) -> Iterator[Finding]:
    without = [number for number, one in enumerate(golden.queries) if one.split is None]
    if without and len(without) < len(golden.queries):
        told = f"has no split and others do; write train or test ({len(without)} without)"
        yield Finding(("queries", without[0], "split"), told)
        return
    for part in ("train", "test"):
        count = sum(one.split == part for one in golden.queries)
        if not without and count < QUESTIONS_MIN:
            told = f"only {count} of the questions are for {part}; at least {QUESTIONS_MIN} are needed for an interval"
            yield Finding(("queries",), told, is_warning=True)


def _whole(golden: Golden) -> Iterator[Finding]:
    if len(golden.queries) < QUESTIONS_MIN:
        told = f"so few questions ({len(golden.queries)}) that differences will look like chance; thirty are a good beginning"
        yield Finding(("queries",), told, is_warning=True)
    if not any(one.distractors for one in golden.queries):
        yield Finding(("queries",), "no question names distractors, so contamination can't be seen; name some", is_warning=True)
    if not any(one.relevant for one in golden.queries):
        yield Finding(("queries",), "no question has a relevant document, so nothing can be found; name some")
