"""Where the figures come from: how to read them, the machine they were measured on, and the command that measures them again."""

import shlex
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import msgspec

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Markup, joined, table, tag, words
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.values import section

_PROGRAM = "hive-mind"
# Parts of the environment that other sections show.
_ELSEWHERE = ("argv", "absent")
_WORDS = {
    "recall@k": "share of the documents labelled relevant that are among the first k",
    "MRR@k": "1 over the rank of the first relevant document",
    "nDCG@k": "relevant documents count less the further down they stand; 1 is the best order there is",
    "nUDCG@k": "the same, and a document that looks right and is wrong counts against it; −1 to 1",
    "source diversity": "how evenly the first k come from different kinds of sources; 0 one kind, 1 all alike",
    "near-duplicates": "share of pairs of the first k whose embeddings are all but the same",
    "coverage gap": "share of the first k with a weak score; lower is better",
    "knew when to decline": "share of questions that were answered where something answers them, and declined where nothing "
    "does; it does not say whether an answer is right",
    "identical top k": "share of questions to which an arm finds the same facts as one memory with everything, in the same order",
    "completeness": "share of the hive that was reached, as the answer itself says",
    "interval": "how far a mean moves with other questions to these documents, at 95 %, and where the data has several "
    "conversations with other conversations; of fewer than twenty questions or so it is too narrow",
    "median time": "of finding, without embedding the question; its interval is by order statistics",
}


def reading(material: Material) -> Markup:
    """Words for figures, and where each of them can be looked up."""
    terms = [part for word, meaning in _WORDS.items() for part in (tag("dt", word), tag("dd", meaning))]
    answerers = {cell.answerer for cell in material.card.done if cell.answerer}
    judges = {cell.judge for cell in material.card.done if cell.judge}
    named = (f"{what}: {', '.join(sorted(names)) or 'none'}. " for what, names in (("Answerer", answerers), ("Judge", judges)))
    who = f"{''.join(named)}k = {material.card.limit}."
    trace = joined(
        "Means are over questions, each counting the same; undefined ones are left out, never counted as 0. "
        "Every figure is made from ",
        tag("code", "cells/CELL/rows.jsonl"),
        " and ",
        tag("code", "times.jsonl"),
        " of this run's folder and from nothing else; ",
        tag("code", "questions.csv"),
        " and ",
        tag("code", "cells.csv"),
        " beside this page are the same as tables.",
    )
    return section("reading", "How to read this", tag("p", trace), tag("p", who), tag("dl", terms))


def environment(material: Material) -> Markup:
    rows = list(_flat({name: value for name, value in material.card.environment.items() if name not in _ELSEWHERE}))
    embeddings = sorted({cell.embedding for cell in material.card.done if cell.embedding})
    if embeddings:
        rows.append(("embedding of the cells", ", ".join(embeddings)))
    columns = (words("what", itemgetter(0)), words("value", itemgetter(1)))
    return section("environment", "Measured on", table("Environment", columns, rows))


def repeating(material: Material) -> Markup:
    """The command, and the whole experiment."""
    argv = material.card.environment.get("argv")
    words = [str(one) for one in argv] if isinstance(argv, list) and argv else ["eval", "run", "EXPERIMENT.yaml"]
    command = shlex.join(words if words[0] == _PROGRAM else [_PROGRAM, *words])
    experiment = msgspec.json.format(msgspec.json.encode(material.card.experiment), indent=2).decode()
    return section(
        "repeat",
        "Measure it again",
        tag("p", f"The same seeds give the same rows; times differ with the machine{_and_answers(material)}."),
        tag("pre", tag("code", command), tabindex=0),
        tag("details", tag("summary", "The experiment, resolved"), tag("pre", tag("code", experiment), tabindex=0)),
    )


def _and_answers(material: Material) -> str:
    asks = "model" in (material.run.experiment.answerer, material.run.experiment.judge)
    return ", and what a language model says from one time to the next" if asks else ""


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Nested values, one a line."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name} {key}".strip().replace("_", " "))
    elif isinstance(value, list):
        yield name, ", ".join(str(one) for one in value)
    elif name.endswith(" bytes") and isinstance(value, int):
        yield name.removesuffix(" bytes"), figures.size(value)
    else:
        yield name, figures.NOTHING if value is None or value == "" else str(value)
