from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.measure.results import (
    contributions,
    ideal_udcg,
    ndcg_at_k,
    nudcg_at_k,
    recall_at_k,
    reciprocal_rank,
    udcg_at_k,
    udcg_by_k,
    utilities,
)

DOCUMENTS = [f"d{i}" for i in range(12)]
RANKED = st.lists(st.sampled_from(DOCUMENTS), unique=True, max_size=12)
CHUNKS = st.lists(st.sampled_from(DOCUMENTS), max_size=20)
JUDGEMENTS = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1)
CUTS = st.integers(1, 15)


def by_trec_eval(ranked, judgements, k):
    """(recall, reciprocal rank, nDCG) by the reference implementation; a tie would be broken by id, so scores fall strictly."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    # It takes no negative judgements; one counts as "not relevant" here too.
    qrels = {"q": {document: max(0, judgement) for document, judgement in judgements.items()}}
    wanted = {f"recall.{k}", "recip_rank", f"ndcg_cut.{k}"}
    first = ranked[:k]
    run = {"q": {document: float(len(first) - place) for place, document in enumerate(first)}}
    values = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)["q"]
    return values[f"recall_{k}"], values["recip_rank"], values[f"ndcg_cut_{k}"]


@given(RANKED.filter(bool), JUDGEMENTS.filter(lambda j: max(j.values()) > 0), CUTS)
def test_recall_reciprocal_rank_and_ndcg_agree_with_trec_eval(ranked, judgements, k):
    ours = (recall_at_k(ranked, judgements, k), reciprocal_rank(ranked, judgements, k), ndcg_at_k(ranked, judgements, k))

    assert ours == pytest.approx(by_trec_eval(ranked, judgements, k), abs=1e-6)


@pytest.mark.parametrize("measure", [recall_at_k, reciprocal_rank, ndcg_at_k])
def test_without_a_relevant_document_a_measure_is_undefined_and_not_zero(measure):
    assert measure(["a", "b"], {"a": -1, "b": 0}, 10) is None
    assert measure([], {"a": 1}, 10) == 0.0


@pytest.mark.parametrize("measure", [recall_at_k, reciprocal_rank, ndcg_at_k])
def test_a_repeated_document_counts_once_and_takes_one_place(measure):
    judgements = {"b": 1, "c": 1}

    assert measure(["a", "a", "a", "b", "b", "c"], judgements, 3) == measure(["a", "b", "c"], judgements, 3)


@pytest.mark.parametrize("measure", [recall_at_k, reciprocal_rank, ndcg_at_k, udcg_at_k, nudcg_at_k])
@pytest.mark.parametrize("k", [0, -1])
def test_a_cut_below_one_is_an_error(measure, k):
    with pytest.raises(ValueError, match="k must be at least 1"):
        measure(["a"], {"a": 1}, k)


class TestTheWorkedExampleOf000:
    """Three relevant documents, a distractor at rank 2, an irrelevant one at rank 4."""

    ranked = ("r1", "d", "r2", "i", "r3")
    judgements = {"r1": 1, "r2": 1, "r3": 1, "d": -1}  # noqa: RUF012 - read only

    def test_every_place_contributes_what_the_table_says(self):
        assert utilities(self.ranked, self.judgements) == [1, -1, 1, 0, 1]
        assert contributions(self.ranked, self.judgements, 5) == pytest.approx([1.0, -0.631, 0.5, 0.0, 0.387], abs=5e-4)

    def test_the_sum_over_that_of_the_ideal_list_is_the_normalised_value(self):
        ideal = ideal_udcg(self.judgements, 5)

        assert ideal == pytest.approx(2.131, abs=5e-4)
        assert udcg_at_k(self.ranked, self.judgements, 5) == pytest.approx(1.2559, abs=5e-4)
        assert nudcg_at_k(self.ranked, self.judgements, 5) == pytest.approx(1.2559 / ideal, abs=5e-4)

    def test_the_curve_falls_where_the_distractor_stands(self):
        curve = udcg_by_k(self.ranked, self.judgements, 7)

        assert curve == pytest.approx([1.0, 0.369, 0.869, 0.869, 1.256, 1.256, 1.256], abs=5e-4)

    def test_removing_the_distractor_is_worth_more_than_it_cost(self):
        gained = nudcg_at_k(("r1", "r2", "i", "r3"), self.judgements, 5) - nudcg_at_k(self.ranked, self.judgements, 5)
        assert gained > 0.631 / (1 + 1 / log2(3) + 1 / 2)


def test_only_the_best_chunk_of_a_document_counts_and_later_ones_keep_their_place():
    judgements = {"r": 1, "d": -1, "s": 1}

    assert utilities(["r", "r", "d", "d", "s"], judgements) == [1, 0, -1, 0, 1]
    assert udcg_at_k(["r", "r", "s"], judgements, 3) == pytest.approx(1 + 1 / 2)


@pytest.mark.parametrize(
    ("ranked", "expected"), [(["x", "y"], 0.0), (["d", "x"], -1.0), (["x", "d"], -1 / log2(3)), (["d", "e"], -1.0), ([], 0.0)]
)
def test_without_relevant_documents_only_distractors_move_the_normalised_value(ranked, expected):
    assert nudcg_at_k(ranked, {"d": -1, "e": -1}, 10) == pytest.approx(expected)


def test_more_distractors_than_relevant_documents_can_not_fall_below_minus_one():
    assert nudcg_at_k(["d", "e", "f"], {"r": 1, "d": -1, "e": -1, "f": -1}, 3) == -1.0


@given(JUDGEMENTS.filter(lambda j: max(j.values()) > 0), CUTS)
def test_the_ideal_list_reaches_one(judgements, k):
    ideal = sorted(judgements, key=lambda document: -judgements[document])

    assert ndcg_at_k(ideal, judgements, k) == pytest.approx(1.0)
    relevant_only = [document for document in ideal if judgements[document] > 0]
    assert nudcg_at_k(relevant_only, judgements, k) == pytest.approx(1.0)


@given(CHUNKS, JUDGEMENTS, CUTS)
def test_every_point_of_the_curve_is_the_value_at_that_cut(ranked, judgements, k):
    curve = udcg_by_k(ranked, judgements, k)

    assert curve == pytest.approx([udcg_at_k(ranked, judgements, cut) for cut in range(1, k + 1)])
    assert all(value <= ideal_udcg(judgements, cut) + 1e-12 for cut, value in enumerate(curve, 1))


@given(CHUNKS, JUDGEMENTS, CUTS, st.permutations(DOCUMENTS))
def test_what_documents_are_called_changes_nothing(ranked, judgements, k, names):
    other = dict(zip(DOCUMENTS, names, strict=True))
    renamed = [other[one] for one in ranked], {other[one]: judgement for one, judgement in judgements.items()}

    for measure in (recall_at_k, reciprocal_rank, ndcg_at_k, udcg_at_k, nudcg_at_k):
        assert measure(*renamed, k) == pytest.approx(measure(ranked, judgements, k))
