"""What a cell asks of which documents: the same in every arm of a data set."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Dataset, Document, LabelledQuestion, Scope, pooled
from hive_mind.evals.experiments import DataSource
from hive_mind.evals.running import cut, dataset_of, row_id, unknown_ids
from hive_mind.runtime.settings import Settings

HERE = Settings(embed="none")


def scope(name: str, *categories: str) -> Scope:
    questions = (LabelledQuestion(f"q{number}", "Who?", {}, category) for number, category in enumerate(categories))
    return Scope(name, (Document("d1", "Ines.", "notes"),), tuple(questions))


def asked(dataset: Dataset) -> list[str]:
    return [row_id(dataset, one, question) for one in dataset.scopes for question in one.questions]


def test_a_subset_names_questions_also_where_scopes_are_pooled():
    dataset = Dataset("x", (scope("a", "", ""), scope("b", "", "")))

    assert asked(cut(dataset, ["q1"])) == ["a/q1", "b/q1"]
    assert asked(cut(pooled(dataset), ["q1"])) == ["a/q1", "b/q1"]
    assert asked(cut(pooled(dataset), ["b/q0", "q9"])) == ["b/q0"]
    assert asked(cut(dataset, ["a/q1", "b/q0", "q9"])) == ["a/q1", "b/q0"]
    assert unknown_ids(["q1", "b/q0", "c/q0", "q9"], [dataset]) == ["c/q0", "q9"]


def test_so_many_of_each_category_are_spread_over_all_of_them_in_their_order():
    assert asked(cut(Dataset("x", (scope("a", *"ababababac"),)), per_category=2)) == ["q0", "q1", "q4", "q5", "q9"]


def test_documents_stay_whatever_is_asked_and_a_scope_without_a_question_is_not_learned():
    left = cut(Dataset("x", (scope("a", "one"), scope("b", "two", "two"))), ["q1"])

    assert [(one.name, len(one.documents)) for one in left.scopes] == [("b", 1)]


def test_a_generated_data_set_is_the_seeds():
    source = DataSource("g", "generated", turns=300, agents=10)

    first, again, other = (asyncio.run(dataset_of(source, seed, HERE)) for seed in (1, 1, 2))

    assert first == again != other
    assert first.documents == 300


def test_a_source_without_a_path_is_refused():
    with pytest.raises(InvalidInput, match="data set a has no path; give it one"):
        asyncio.run(dataset_of(DataSource("a"), 1, HERE))


def test_what_an_agent_remembers_is_a_data_set_and_a_file_says_what_to_ask_of_it(tmp_path: Path):
    with pytest.raises(InvalidInput, match="agent 'ada' has learned nothing yet"):
        asyncio.run(dataset_of(DataSource("m", "memory", memory="ada"), 1, replace(HERE, home=tmp_path)))
