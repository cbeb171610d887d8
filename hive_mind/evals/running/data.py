"""From a data source to the documents and questions of a cell: read or generated, pooled, with other questions, cut down.

An experiment's questions are chosen here and nowhere else, so that every arm of a data set is asked the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Dataset, LabelledQuestion, Scope, pooled
from hive_mind.evals.experiments.values import DataSource, Experiment
from hive_mind.runtime.settings import Settings


async def asked_of(source: DataSource, seed: int, experiment: Experiment, settings: Settings) -> Dataset:
    """A data set with the questions that are asked of it. Raises `InvalidInput`."""
    dataset = await dataset_of(source, seed, settings)
    return cut(dataset, experiment.subset, experiment.per_category)


async def dataset_of(source: DataSource, seed: int, settings: Settings) -> Dataset:
    """Everything a source has. `seed` decides what is generated. Raises `InvalidInput`."""
    dataset = replace(await _read(source, seed, settings), name=source.name)
    if source.is_pooled and len(dataset.scopes) > 1:
        dataset = pooled(dataset)
    if source.questions is None:
        return dataset
    from hive_mind.evals.datasets.jsonl import with_questions

    return with_questions(dataset, source.questions)


def cut(dataset: Dataset, subset: Sequence[str] = (), per_category: int = 0) -> Dataset:
    """Only the named questions, and at most the given number of each category, evenly spread. Documents stay."""
    names = frozenset(subset)
    questions = [
        (scope.name, question)
        for scope in dataset.scopes
        for question in scope.questions
        if not names or names & _names(scope, question)
    ]
    if per_category:
        groups: dict[str, list[tuple[str, LabelledQuestion]]] = {}
        for scope, question in questions:
            groups.setdefault(question.category, []).append((scope, question))
        questions = [pair for group in groups.values() for pair in _spread(group, per_category)]
    question_keys = {(scope, labelled_question.id) for scope, labelled_question in questions}
    scopes = (_with(scope, question_keys) for scope in dataset.scopes)
    return replace(dataset, scopes=tuple(scope for scope in scopes if scope.questions))


def fingerprint(dataset: Dataset) -> str:
    """Identity of a data set: the same documents and questions, in the same order, have the same one."""
    return blake2b(msgspec.json.encode(dataset.scopes, order="deterministic"), digest_size=8).hexdigest()


def data_key(source: DataSource, seed: int) -> str:
    """The name of a data set beside its fingerprint in a run: a generated one has another name for each seed."""
    return f"{source.name}-s{seed}"


def unknown_ids(subset: Sequence[str], datasets: Iterable[Dataset]) -> list[str]:
    """Of the ids that should be asked, those that no question has."""
    question_ids = {
        id for dataset in datasets for scope in dataset.scopes for question in scope.questions for id in _names(scope, question)
    }
    return [id for id in subset if id not in question_ids]


def row_id(dataset: Dataset, scope: Scope, question: LabelledQuestion) -> str:
    """One question's id in a run's rows."""
    return question.id if len(dataset.scopes) == 1 else f"{scope.name}/{question.id}"


async def _read(source: DataSource, seed: int, settings: Settings) -> Dataset:
    match source.format:
        case "generated":
            from hive_mind.evals.generating import generate

            return generate(source.turns, source.agents, seed)
        case "demo":
            from hive_mind.evals.demo import demo_dataset

            return demo_dataset()
        case "memory":
            from hive_mind.evals.datasets.from_memory import load_memory

            return await load_memory(settings, source.memory)
    if source.path is None:
        raise InvalidInput(f"data set {source.name} has no path; give it one")
    from hive_mind.evals.datasets.load import load_dataset

    return load_dataset(source.path, source.part, source.format)


def _names(scope: Scope, question: LabelledQuestion) -> set[str]:
    """Valid names of a question: "26/q7" is also found as q7, whether its data set is pooled or not."""
    return {question.id, question.id.rpartition("/")[2], f"{scope.name}/{question.id}"}


def _spread(group: Sequence[tuple[str, LabelledQuestion]], most: int) -> list[tuple[str, LabelledQuestion]]:
    """The first of them are all of one conversation; these are not."""
    if len(group) <= most:
        return list(group)
    return [group[number * len(group) // most] for number in range(most)]


def _with(scope: Scope, question_keys: set[tuple[str, str]]) -> Scope:
    return replace(scope, questions=tuple(question for question in scope.questions if (scope.name, question.id) in question_keys))
