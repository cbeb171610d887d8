import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.retrieval import Golden, RetrievalConfig
from hive_mind.retrieval.measuring import METRICS
from hive_mind.retrieval.measuring.evaluation import environment, evaluate, held_out, write_results
from tests.unit.retrieval.measurements import Ranked, bench, config, evaluation, row

LETTERS = st.text("rstDE.", max_size=12)
NOON = datetime(2026, 1, 2, 12, 30, tzinfo=UTC)


def golden(*splits):
    queries = [{"query": f"question {n}", "relevant": ["r.md"], "split": split} for n, split in enumerate(splits, 1)]
    return Golden.model_validate({"queries": queries})


def run(index, of, golden, split=None):
    return asyncio.run(evaluate(index, of, golden, split))


def test_the_worked_example_of_000_as_a_row():
    measures = row(1, "rDs.t").measures(10)

    assert measures.udcg == pytest.approx(1.2559, abs=5e-4)
    assert measures.nudcg == pytest.approx(1.2559 / 2.1309, abs=5e-4)
    assert (measures.distractors, measures.contamination, measures.results) == (1, 0.2, 5)
    assert measures.recall == 1.0


def test_two_chunks_of_a_distractor_are_one_distractor_but_contaminate_twice():
    measures = row(1, "DrD.").measures(10)

    assert (measures.distractors, measures.contamination) == (1, 0.5)


def test_an_answer_without_results_is_worth_nothing_and_misleads_nobody():
    measures = row(1, "").measures(10)

    assert (measures.udcg, measures.nudcg, measures.recall, measures.contamination) == (0.0, 0.0, 0.0, 0.0)


def test_every_question_of_the_chosen_part_is_asked_and_kept_as_it_was_shown():
    found = run(Ranked({"v1": "rD"}), config(), golden("train", "test", "test"), "test")

    assert [one.id for one in found.rows] == ["q2", "q3"]
    assert found.rows[0].documents == ("r.md", "D.md")
    assert (found.split, found.rows[0].scored, found.rows[0].shown[1].rank) == ("test", 20, 2)


def test_without_a_part_all_questions_are_asked():
    assert len(run(Ranked({"v1": "r"}), config(), golden("train", "test", None)).rows) == 3


def test_a_part_without_questions_is_told():
    with pytest.raises(InvalidInput, match='no question of the golden set is marked "split": "test"'):
        run(Ranked({}), config(), golden("train"), "test")


@pytest.mark.parametrize(
    ("splits", "asked", "called"),
    [
        (("train", "test", None), ["q2"], "test"),
        (("train", None, None), ["q2", "q3"], "unmarked"),
        ((None, None), ["q1", "q2"], "all"),
    ],
)
def test_what_decides_is_what_nobody_tuned_on(splits, asked, called):
    questions, split = held_out(golden(*splits))

    assert ([one.id for one in questions], split) == (asked, called)


def test_nothing_decides_where_every_question_is_for_training():
    with pytest.raises(InvalidInput, match='every golden question is marked "split": "train"'):
        held_out(golden("train", "train"))


def test_a_configuration_that_shows_one_result_is_not_measured_by_an_easier_ideal():
    one = Golden.model_validate({"queries": [{"query": "question 1", "relevant": ["r.md", "s.md"]}]})

    found = run(Ranked({"v1": "r"}), config(retrieval={"top_k": 1}), one)

    assert found.k == 10
    assert found.nudcg < 0.7


def test_a_configuration_that_shows_more_is_measured_to_its_end():
    assert run(Ranked({"v1": "r"}), config(retrieval={"top_k": 25}), golden(None)).k == 25


def test_progress_is_told_for_every_question():
    told = []

    asyncio.run(evaluate(Ranked({"v1": "r"}), config(), golden(None, None), progress=lambda *what: told.append(what)))

    assert told == [("v1", 1, 2), ("v1", 2, 2)]


@given(st.lists(LETTERS, min_size=1, max_size=5), st.integers(1, 15))
def test_every_measure_stays_in_its_range(answers, k):
    found = evaluation(*answers).at(k)

    for metric in METRICS:
        for value in found.values(metric):
            assert value is not None
            assert {"udcg": -k, "nudcg": -1}.get(metric, 0) <= value <= (k if metric == "udcg" else 1 + 1e-12)
    assert 0 <= found.contaminated <= len(answers)
    assert found.distractors_in(1) <= found.distractors <= 2 * len(answers)
    assert all(value <= best + 1e-12 for value, best in zip(found.curve, found.ideal_curve, strict=True))


@given(LETTERS, st.integers(1, 15))
def test_taking_a_distractor_out_never_makes_an_answer_worth_less(letters, k):
    with_it, without = row(1, letters), row(1, letters.replace("D", "."))

    assert without.measures(k).nudcg >= with_it.measures(k).nudcg - 1e-12


@settings(deadline=None, max_examples=20)
@given(st.lists(LETTERS, min_size=1, max_size=6), st.randoms())
def test_the_order_of_the_questions_changes_no_mean(answers, chance):
    mixed = chance.sample(answers, len(answers))

    for metric in METRICS:
        assert evaluation(*mixed).estimate(metric) == evaluation(*answers).estimate(metric)


class TestResultsAsFiles:
    def test_a_file_has_the_configuration_and_the_moment(self, tmp_path):
        place = bench(tmp_path, Ranked({}), config())
        found = evaluation("rDs", "", of=config(filters={"category": ["api"]}, diversity={"lambda": 0.5}))

        path = write_results(place.workspace, found, environment(place), NOON)

        assert path.name == "v1-20260102T123000Z.json"
        content = json.loads(path.read_text())
        assert RetrievalConfig.model_validate(content["evaluation"]["config"]) == found.config
        assert [row["query"] for row in content["evaluation"]["rows"]] == [row.query for row in found.rows]
        assert content["at"] == "2026-01-02T12:30:00+00:00"

    def test_a_file_has_every_question_with_its_labels_and_what_it_was_worth(self, tmp_path):
        place = bench(tmp_path, Ranked({}), config())

        content = json.loads(write_results(place.workspace, evaluation("rD"), environment(place), NOON).read_text())

        (kept,) = content["evaluation"]["rows"]
        assert [one["label"] for one in kept["shown"]] == ["relevant", "distractor"]
        assert kept["measures"]["distractors"] == 1
        assert content["summary"]["nudcg"]["mean"] == pytest.approx(kept["measures"]["nudcg"], abs=1e-4)
        assert content["environment"]["golden"]
        assert content["environment"]["python"]

    def test_a_second_measurement_in_the_same_second_gets_a_name_of_its_own(self, tmp_path):
        place = bench(tmp_path, Ranked({}), config())

        first, second = (write_results(place.workspace, evaluation("r"), environment(place), NOON) for _ in range(2))

        assert first != second
        assert sorted(place.workspace.results.iterdir()) == sorted([first, second])

    def test_who_measures_at_the_same_time_writes_over_nobody(self, tmp_path):
        place = bench(tmp_path, Ranked({}), config())
        about, together = environment(place), Barrier(8)

        def written(_):
            together.wait()
            return write_results(place.workspace, evaluation("r"), about, NOON)

        with ThreadPoolExecutor(8) as threads:
            paths = list(threads.map(written, range(8)))

        assert sorted(place.workspace.results.iterdir()) == sorted(set(paths))
        assert len(set(paths)) == 8
