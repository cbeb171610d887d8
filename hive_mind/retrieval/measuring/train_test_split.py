"""Which questions are for tuning and which decide: what was tuned on can't tell whether it is any good."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from hive_mind.errors import InvalidInput
from hive_mind.retrieval.files.collection import Golden, GoldenQuery
from hive_mind.retrieval.measuring.evaluation import held_out

# Thirty is what the documentation asks beginners to label; half of fewer is too little to tune on and to decide.
CROSSED_BELOW = 30
CROSSED = "cross-validated"
"""The name of a split in which all questions tune and all decide."""

Questions = tuple[GoldenQuery, ...]


@dataclass(frozen=True, slots=True)
class TrainTestSplit:
    """The golden set in two parts, or twice the whole where it is small.

    Training questions come in an order that has nothing to do with that of the file.

    `note` says how they were parted where nobody had marked them.
    """

    training: Questions
    deciding: Questions
    split: str
    note: str = ""

    @property
    def is_crossed(self) -> bool:
        """Whether both parts are the same questions: then only cross-validation can tell anything."""
        return self.split == CROSSED


def train_test_split(golden: Golden) -> TrainTestSplit:
    """The parts as they are marked; where nothing is marked, every other question, in an order that stays the same.

    Of a small set of which nothing is marked both parts are the whole.

    Raises `InvalidInput` where one part is empty.
    """
    if all(query.split is None for query in golden.queries):
        return _parted(golden.queries)
    training = golden.split("train")
    if not training:
        raise InvalidInput('no golden question is marked "split": "train": mark about half of them: tuning uses only those')
    deciding, split = held_out(golden)
    return TrainTestSplit(mixed(training), deciding, split)


def mixed(questions: Sequence[GoldenQuery]) -> Questions:
    """The questions in an order that depends on their words alone, so that the first few are a fair sample."""
    return tuple(sorted(questions, key=lambda query: blake2b(query.query.encode("utf-8", "replace"), digest_size=8).digest()))


def _parted(questions: Sequence[GoldenQuery]) -> TrainTestSplit:
    if len(questions) < 2:
        raise InvalidInput("a single golden question can't be in both splits: label at least 30")
    ordered = mixed(questions)
    if len(ordered) < CROSSED_BELOW:
        template = "all {} questions tune, since none is marked and they are few: figures are cross-validated"
        return TrainTestSplit(ordered, ordered, CROSSED, template.format(len(ordered)))
    note = 'no question is marked: every other one was held out here. Mark them "train" and "test", or deploy measures with all'
    return TrainTestSplit(ordered[::2], ordered[1::2], "unmarked", note)
