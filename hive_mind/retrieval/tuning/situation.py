"""What is known so far, in lines: for a language model to go on from, and for a person at the keyboard. Pure.

Of the documents it has only names, headings and scores: their texts could say anything to a model.
"""

from collections.abc import Iterator

from hive_mind.retrieval.checking.describing import described
from hive_mind.retrieval.files.changing import text_of
from hive_mind.retrieval.measuring.measured import Row
from hive_mind.retrieval.tuning.tuner import TOP, Situation, Step

# The questions that lost most say where it hurts; all of them would say it in many more words.
_QUESTIONS_MAX = 6
_VALUES_MAX = 12
_STEPS_MAX = 30
_HEADING_MAX = 60


def told(situation: Situation) -> str:
    """Everything: the collection, the best configuration, the steps, and the questions that suffer most."""
    parts = (_collection(situation), _best(situation), _steps(situation), _questions(situation))
    return "\n\n".join("\n".join(part) for part in parts)


def _collection(situation: Situation) -> Iterator[str]:
    has = "documents and questions have embeddings" if situation.has_embeddings else "there are no embeddings: only keyword works"
    yield f"Collection {situation.collection.name}: {situation.documents} documents; {has}."
    yield "Fields that can filter, with the number of documents of each value:"
    fields = described(situation.collection, situation.facets, situation.documents).fields
    for field in (one for one in fields if one.is_filterable):
        values = ", ".join(f"{value} ({count})" for value, count in field.values[:_VALUES_MAX])
        more = f" and {field.values_count - _VALUES_MAX} more" if field.values_count > _VALUES_MAX else ""
        yield f"  {field.name}: {values}{more}"


def _best(situation: Situation) -> Iterator[str]:
    yield f"The best configuration so far, {_figures(situation.best)}:"
    yield text_of(situation.best.config)
    for one in situation.findings(situation.best.config):
        yield f"  {one.level}: {one.path} {one.message}"


def _steps(situation: Situation) -> Iterator[str]:
    yield f"Steps so far (nUDCG, distractors in the first {TOP} results, results shown):"
    for step in [one for one in situation.steps if one.is_whole][-_STEPS_MAX:]:
        yield f"  {step.config.name}: {_figures(step)}: {step.reason}"


def _questions(situation: Situation) -> Iterator[str]:
    best = situation.best.measured
    worst = sorted(best.rows, key=lambda row: (row.measures(best.k).nudcg, row.id))[:_QUESTIONS_MAX]
    yield "The questions that suffer most with the best (R relevant, D distractor, - neither; keyword score, vector score):"
    for row in worst:
        yield f'  "{row.query}" nUDCG {row.measures(best.k).nudcg:.2f}, {row.method}'
        yield from _results(row)


def _results(row: Row) -> Iterator[str]:
    for one in row.shown[:TOP]:
        vector = "-" if one.vector is None else f"{one.vector:.2f}"
        mark = {"relevant": "R", "distractor": "D", "": "-"}[row.label(one.document)]
        flags = f" [{', '.join(one.flags)}]" if one.flags else ""
        heading = " ".join(one.heading.split())[:_HEADING_MAX]
        yield f"    {one.rank} {mark} {one.document} ({heading}) {one.keyword:.1f} {vector}{flags}"
    if missing := [document for document in row.relevant if document not in row.documents]:
        yield f"    not found: {', '.join(missing)}"
    if row.why_cut:
        yield f"    {row.why_cut}"


def _figures(step: Step) -> str:
    return f"{step.nudcg:.3f}, {step.misleading}, {step.measured.results}"
