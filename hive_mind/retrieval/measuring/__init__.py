"""Measuring a configuration on golden questions, comparing two, and deciding which is better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from hive_mind.measure import Estimate, estimate, macro_mean
from hive_mind.measure.differences import Sense
from hive_mind.measure.results import DISTRACTOR, ideal_udcg, ndcg_at_k, nudcg_at_k, recall_at_k, reciprocal_rank, udcg_by_k
from hive_mind.retrieval import RetrievalConfig

Metric = Literal["nudcg", "udcg", "ndcg", "recall", "mrr", "contamination"]
METRICS: Mapping[Metric, tuple[str, Sense]] = {
    "nudcg": ("nUDCG", "better"),
    "udcg": ("UDCG", "better"),
    "ndcg": ("nDCG", "better"),
    "recall": ("recall", "better"),
    "mrr": ("MRR", "better"),
    "contamination": ("contamination", "worse"),
}
"""The word for each in tables, and the meaning of more of it."""
Label = Literal["relevant", "distractor", ""]


@dataclass(frozen=True, slots=True)
class Shown:
    """One result as it is kept: where it stood, with which scores. Its text can be had from the index."""

    rank: int
    document: str
    chunk_id: str
    heading: str
    score: float
    keyword: float
    vector: float | None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measures:
    """The worth of one answer. nDCG, recall and reciprocal rank are undefined (None) without relevant documents.

    `distractors` counts documents, `contamination` is the share of all shown chunks that come from distractors: that much of
    what a language model would read misleads it.
    """

    udcg: float
    nudcg: float
    ndcg: float | None
    recall: float | None
    mrr: float | None
    distractors: int
    contamination: float
    results: int


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One question, its labels, and what was shown for it. A row equals another one however long it took."""

    id: str
    query: str
    relevant: tuple[str, ...]
    distractors: tuple[str, ...]
    shown: tuple[Shown, ...]
    scored: int
    method: str
    cut_at: int | None = None
    why_cut: str = ""
    notes: tuple[str, ...] = ()
    ms: float = field(default=0.0, compare=False)

    @property
    def documents(self) -> tuple[str, ...]:
        return tuple(view.document for view in self.shown)

    @property
    def judgements(self) -> dict[str, int]:
        """The judgement of each labelled document. One that is labelled both ways misleads."""
        return dict.fromkeys(self.relevant, 1) | dict.fromkeys(self.distractors, DISTRACTOR)

    def label(self, document: str) -> Label:
        judgement = self.judgements.get(document, 0)
        return "relevant" if judgement > 0 else "distractor" if judgement < 0 else ""

    def measures(self, k: int) -> Measures:
        documents, judgements = self.documents[:k], self.judgements
        misleading = [document for document in documents if judgements.get(document, 0) < 0]
        return Measures(
            udcg=self.curve(k)[-1],
            nudcg=nudcg_at_k(documents, judgements, k),
            ndcg=ndcg_at_k(documents, judgements, k),
            recall=recall_at_k(documents, judgements, k),
            mrr=reciprocal_rank(documents, judgements, k),
            distractors=len(set(misleading)),
            contamination=len(misleading) / len(documents) if documents else 0.0,
            results=len(documents),
        )

    def curve(self, k: int) -> list[float]:
        return udcg_by_k(self.documents, self.judgements, k)

    def ideal_curve(self, k: int) -> list[float]:
        """The most that UDCG could be at 1, 2 … k."""
        return [ideal_udcg(self.judgements, cut) for cut in range(1, k + 1)]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A configuration, measured with some questions, at a cut shared by all configurations that it is compared with."""

    config: RetrievalConfig
    split: str
    """Which questions: "test", "train", "unmarked" or "all"."""
    k: int
    rows: tuple[QuestionRow, ...]
    metrics: ClassVar = METRICS

    def at(self, k: int) -> "Evaluation":
        return self if k == self.k else replace(self, k=k)

    def measures(self) -> list[Measures]:
        return [row.measures(self.k) for row in self.rows]

    def values(self, metric: Metric) -> list[float | None]:
        """A metric of each question; None where it is undefined."""
        return [getattr(measure, metric) for measure in self.measures()]

    def estimate(self, metric: Metric) -> Estimate | None:
        """A metric's mean with its 95 % interval; None where it is defined for no question."""
        return estimate(self.values(metric))

    @property
    def nudcg(self) -> float:
        """The mean that decides. 0 without questions."""
        return macro_mean(self.values("nudcg")) or 0.0

    @property
    def distractors(self) -> int:
        return self.distractors_in(self.k)

    def distractors_in(self, k: int) -> int:
        return sum(row.measures(k).distractors for row in self.rows)

    @property
    def contaminated(self) -> int:
        return sum(measure.distractors > 0 for measure in self.measures())

    @property
    def results(self) -> int:
        return sum(len(row.shown) for row in self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the index on how it searched, each once."""
        return tuple(dict.fromkeys(note for row in self.rows for note in row.notes))

    @property
    def curve(self) -> list[float]:
        return _mean_curve([row.curve(self.k) for row in self.rows])

    @property
    def ideal_curve(self) -> list[float]:
        """The most that mean UDCG could be at 1, 2 … k."""
        return _mean_curve([row.ideal_curve(self.k) for row in self.rows])


def _mean_curve(curves: Sequence[Sequence[float]]) -> list[float]:
    return [sum(points) / len(points) for points in zip(*curves, strict=True)]
