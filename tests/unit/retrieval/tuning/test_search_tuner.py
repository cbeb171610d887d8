import pytest

from hive_mind.retrieval.tuning.loop import Order
from hive_mind.retrieval.tuning.tuners import SearchSettings, SearchTuner, space
from hive_mind.retrieval.validation import check_config
from tests.sampled import usually
from tests.unit.retrieval.tuning_world import FACETS, bench, reasons, situation_of, tuned


def searched(folder, seed=0, **settings):
    return tuned(bench(folder), SearchTuner(SearchSettings(seed=seed, **settings)), Order(name="better"))


def test_the_same_seed_does_the_same_and_another_one_something_else(tmp_path):
    first, again, other = (searched(tmp_path / name, seed, rounds_max=1) for name, seed in (("a", 3), ("b", 3), ("c", 4)))

    assert reasons(first.steps) == reasons(again.steps)
    assert reasons(first.steps) != reasons(other.steps)


def test_candidates_are_halved_from_a_third_of_the_questions_to_all(tmp_path):
    tuner = SearchTuner(SearchSettings(width=8, rounds_max=1, patience=1))
    found = tuned(bench(tmp_path, questions=42), tuner, Order(name="better"))

    assert [len(step.measured.rows) for step in found.steps if not step.is_whole] == [7] * 8 + [14] * 4
    assert found.steps[13].number == 1
    assert found.steps[13].config.filters == max(found.steps[9:13], key=lambda step: step.nudcg).config.filters


@pytest.mark.parametrize("seed", usually(range(5), 0))
def test_it_finds_the_filter_that_leaves_distractors_out_keeps_nothing_that_does_nothing_and_writes_right_files(tmp_path, seed):
    it = bench(tmp_path)

    found = tuned(it, SearchTuner(SearchSettings(seed=seed)))

    assert "faqs" not in found.best.config.filters["category"]
    assert (found.best.misleading, found.best.nudcg, found.verdict.allowed) == (0, 1.0, True)
    assert set(found.best.config.model_dump(exclude_defaults=True)) <= {"name", "collection", "retrieval", "filters"}
    for name in it.workspace.configs():
        assert check_config(it.workspace, name, has_embeddings=False).findings == ()


def test_every_change_says_why_in_words_of_its_own(tmp_path):
    situation = situation_of(tmp_path)

    known = space(situation.best.config, situation.collection, FACETS)

    assert len({one.reason for one in known}) == len(known)
    assert all(one.changes for one in known)
    assert not any(one.subject == "boosts.recency" for one in known)


def test_a_start_that_needs_embeddings_that_are_not_there_is_mended_and_it_ends_where_nothing_more_is_gained(tmp_path):
    it = bench(tmp_path)
    (tmp_path / "configs" / "hybrid.json").write_text('{"name": "hybrid", "collection": "kb"}')

    found = tuned(it, SearchTuner(SearchSettings(patience=1)), Order(start="hybrid", name="better"))

    assert (found.best.config.retrieval.method, found.best.nudcg) == ("keyword", 1.0)
    assert found.ended == "search (seed 0) has nothing left to try"
    assert sum(step.is_whole for step in found.steps) < 24
