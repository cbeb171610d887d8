"""Tuning: propose a configuration, measure it, learn from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hive_mind.retrieval import Collection, RetrievalConfig
from hive_mind.retrieval.contradictions import described
from hive_mind.retrieval.measuring import Evaluation
from hive_mind.retrieval.measuring.evaluation import CROSSED
from hive_mind.retrieval.validation import FileFinding, semantic
from hive_mind.retrieval.workspace import config_text, is_same, values_written

# A language model reads the first few results with the most care, and this many are what it usually gets.
TOP = 5
# Less is no reason to prefer a configuration.
GAIN_MIN = 0.005
# Sums in another order differ by less.
_SAME = 1e-9
# Nor is one question that gains this much while all others stay. Tuned on 5, 10 and 20 of the example's questions, what is chosen
# reaches 0.889, 0.893 and 0.887 on the others, and 0.887, 0.873 and 0.887 where GAIN_MIN alone tells equals (means of 8 draws).
_QUESTION_GAIN_MIN = 0.2
# The questions that lost most say where it hurts; all of them would say it in many more words.
_QUESTIONS_MAX = 6
_VALUES_MAX = 12
_STEPS_MAX = 30
_HEADING_MAX = 60


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed measurement, and why. `share`: of the training questions; a part is enough to see that one is no good."""

    config: RetrievalConfig
    reason: str
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Step:
    """A configuration that was measured. Number 0 is the one tuning began with; a try with a part of the questions has none."""

    number: int | None
    config: RetrievalConfig
    reason: str
    measured: Evaluation

    @property
    def is_whole(self) -> bool:
        return self.number is not None

    @property
    def nudcg(self) -> float:
        return self.measured.nudcg

    @property
    def misleading(self) -> int:
        return self.measured.distractors_in(TOP)


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything a tuner may know. `steps` are in order, the start first, then whole ones and tries."""

    collection: Collection
    facets: Mapping[str, Mapping[str, int]]
    documents: int
    has_embeddings: bool
    steps: tuple[Step, ...]
    best: Step

    @property
    def start(self) -> Step:
        return self.steps[0]

    @property
    def last(self) -> Step:
        """The last measurement, a try included."""
        return self.steps[-1]

    def findings(self, config: RetrievalConfig) -> tuple[FileFinding, ...]:
        """Settings that make no sense for these documents; warnings too."""
        return semantic(config, self.collection, self.facets, self.has_embeddings)

    def errors(self, config: RetrievalConfig) -> tuple[str, ...]:
        """The mistakes that keep a configuration from being measured, as lines for its author."""
        errors = [f"{finding.path}: {finding.message}" for finding in self.findings(config) if finding.level == "error"]
        if config.collection != self.collection.name:
            errors.append(f"collection: is {config.collection}, and what is tuned searches {self.collection.name}; leave it")
        if step := self.known(config):
            errors.append(f"it is the same as {step.config.name}, which was measured already; change something")
        return tuple(errors)

    def objections(self, config: RetrievalConfig) -> tuple[str, ...]:
        """The errors, and the warnings that the start has not: a tuner leaves no file that is warned about."""
        accepted = {(finding.path, finding.message) for finding in self.findings(self.start.config)}
        odd = [
            finding
            for finding in self.findings(config)
            if finding.level == "warning" and (finding.path, finding.message) not in accepted
        ]
        return (*self.errors(config), *(f"{finding.path}: {finding.message}" for finding in odd))

    def known(self, config: RetrievalConfig) -> Step | None:
        """The step that measured this configuration already, whole."""
        return next((step for step in self.steps if step.is_whole and is_same(step.config, config)), None)


class Tuner(Protocol):
    """Somebody or something that improves configurations."""

    @property
    def name(self) -> str:
        """The tuner's name, for the files it leaves."""

    async def propose(self, situation: Situation) -> Proposal | None:
        """The next proposal; None when there is nothing left to try. `situation.errors` of it has to be empty.

        May raise `BackendError` and `ModelOutputError`, which end the tuning and lose nothing.
        """


def is_better(one: Step, other_step: Step) -> bool:
    """Whether the first is worth more.

    A higher nUDCG is; of those that differ by noise alone, the one with fewer distractors; else the one in fewer words.
    """
    k = max(one.measured.k, other_step.measured.k)
    news, olds = (step.measured.at(k).measures() for step in (one, other_step))
    changes = [new.nudcg - old.nudcg for new, old in zip(news, olds, strict=True)]
    if _is_gain(changes) or _is_gain([-change for change in changes]):
        return sum(changes) > 0
    mine, others = ((step.misleading, step.measured.distractors) for step in (one, other_step))
    if mine != others:
        return mine < others
    return values_written(one.config) < values_written(other_step.config)


def _is_gain(changes: Sequence[float]) -> bool:
    """Whether it is more than noise: neither next to nothing, nor a little at one question alone."""
    total = sum(changes)
    return total >= GAIN_MIN * len(changes) and (total >= _QUESTION_GAIN_MIN or total - max(changes) > _SAME)


def takes_over(step: Step, best: Step, start: Step) -> bool:
    """Whether a step is to be the best from now on."""
    if not step.is_whole or not is_better(step, best):
        return False
    # The gate would refuse one that shows more distractors, however high its nUDCG.
    k = max(step.measured.k, start.measured.k)
    return step.measured.at(k).distractors <= start.measured.at(k).distractors


def best_of(steps: Sequence[Step]) -> Step:
    """The best of some steps, the first of which is what everything began with."""
    start = best = steps[0]
    for step in steps[1:]:
        if takes_over(step, best, start):
            best = step
    return best


def cross_validated(steps: Sequence[Step], config: RetrievalConfig) -> Evaluation:
    """The worth of choosing, under the name of the configuration that all questions chose."""
    whole_steps = {step.number: step for step in steps if step.is_whole}
    k = max(step.measured.k for step in whole_steps.values())
    rows = []
    for place in range(len(steps[0].measured.rows)):
        chosen = best_of(
            [
                replace(step, measured=replace(step.measured, rows=step.measured.rows[:place] + step.measured.rows[place + 1 :]))
                for step in whole_steps.values()
            ]
        )
        rows.append(whole_steps[chosen.number].measured.rows[place])
    return Evaluation(config, CROSSED, k, tuple(rows))


def situation_text(situation: Situation) -> str:
    """State so far in lines, for a model or a person: the collection, the best, the steps, and the questions that suffer most.

    Of the documents it has only names, headings and scores: their texts could say anything to a model.
    """
    parts = (_collection(situation), _best(situation), _steps(situation), _questions(situation))
    return "\n\n".join("\n".join(part) for part in parts)


def _collection(situation: Situation) -> Iterator[str]:
    has = "documents and questions have embeddings" if situation.has_embeddings else "there are no embeddings: only keyword works"
    yield f"Collection {situation.collection.name}: {situation.documents} documents; {has}."
    yield "Fields that can filter, with the number of documents of each value:"
    fields = described(situation.collection, situation.facets, situation.documents).fields
    for field in (description for description in fields if description.is_filterable):
        values = ", ".join(f"{value} ({count})" for value, count in field.values[:_VALUES_MAX])
        rest = f" and {field.values_count - _VALUES_MAX} more" if field.values_count > _VALUES_MAX else ""
        yield f"  {field.name}: {values}{rest}"


def _best(situation: Situation) -> Iterator[str]:
    yield f"The best configuration so far, {_figures(situation.best)}:"
    yield config_text(situation.best.config)
    for finding in situation.findings(situation.best.config):
        yield f"  {finding.level}: {finding.path} {finding.message}"


def _steps(situation: Situation) -> Iterator[str]:
    yield f"Steps so far (nUDCG, distractors in the first {TOP} results, results shown):"
    for step in [whole_step for whole_step in situation.steps if whole_step.is_whole][-_STEPS_MAX:]:
        yield f"  {step.config.name}: {_figures(step)}: {step.reason}"


def _questions(situation: Situation) -> Iterator[str]:
    best = situation.best.measured
    worst = sorted(best.rows, key=lambda row: (row.measures(best.k).nudcg, row.id))[:_QUESTIONS_MAX]
    yield "The questions that suffer most with the best (R relevant, D distractor, - neither; keyword score, vector score):"
    for row in worst:
        yield f'  "{row.query}" nUDCG {row.measures(best.k).nudcg:.2f}, {row.method}'
        for view in row.shown[:TOP]:
            vector = "-" if view.vector is None else f"{view.vector:.2f}"
            mark = {"relevant": "R", "distractor": "D", "": "-"}[row.label(view.document)]
            flags = f" [{', '.join(view.flags)}]" if view.flags else ""
            heading = " ".join(view.heading.split())[:_HEADING_MAX]
            yield f"    {view.rank} {mark} {view.document} ({heading}) {view.keyword:.1f} {vector}{flags}"
        if missing := [document for document in row.relevant if document not in row.documents]:
            yield f"    not found: {', '.join(missing)}"
        if row.why_cut:
            yield f"    {row.why_cut}"


def _figures(step: Step) -> str:
    return f"{step.nudcg:.3f}, {step.misleading}, {step.measured.results}"
