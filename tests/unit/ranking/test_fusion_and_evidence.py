"""Fusion by hand, evidence in bounds, and the constants that were published."""

import random
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_mind.model.gathered import Pool
from hive_mind.ranking import pipeline, seed
from hive_mind.ranking.pipeline import RankingSettings, balanced, confirmation_share, linear, rank, trust_share
from hive_mind.ranking.seed import Collected, hybrid_score_weighted, rrf_merge, seed_federated
from tests.supports import FactSupport, alike, by_id

SHARE = st.floats(0, 1)
EVIDENCE = st.builds(FactSupport, SHARE, SHARE, SHARE)
ROWS = st.lists(st.tuples(st.floats(0, 30, width=32), st.one_of(st.just(float("nan")), st.floats(-1, 1, width=32))), min_size=1)


def pool(rows: list[tuple[float, float]], exact: list[float] | None = None) -> Pool:
    keyword, semantic = np.array(rows, np.float32).reshape(-1, 2).T
    named = np.array(exact or [0.0] * len(rows), np.float32)
    return Pool(tuple(f"{number:04}" for number in range(len(rows))), keyword, semantic, named)


def test_the_published_constants_are_the_defaults():
    assert pipeline.RRF_K == 60
    assert (seed.SEMANTIC_WEIGHT, seed.CONFIRMATION_WEIGHT, seed.TRUST_WEIGHT) == (0.5, 0.3, 0.2)
    assert hybrid_score_weighted(1.0, 5, 2.0) == pytest.approx(1.0)
    assert hybrid_score_weighted(0.8, 2, 1.0) == pytest.approx(0.5 * 0.8 + 0.3 * 2 / 5 + 0.2 * 1 / 2)
    assert hybrid_score_weighted(1.0, 0, 0.0, semantic_weight=0.9) == pytest.approx(0.9)


def test_evidence_is_bounded_at_both_ends():
    assert [confirmation_share(n) for n in (-3, 0, 1, 5, 1000)] == [0, 0, 0.2, 1, 1]
    assert [trust_share(trust) for trust in (-1.0, 0.0, 1.0, 2.0, 8100.0)] == [0, 0, 0.5, 1, 1]


def test_reciprocal_ranks_add_up():
    merged = rrf_merge([["a", "b", "c"], ["b", "d"], ["b", "b", "a"]])

    assert merged == [
        ("b", pytest.approx(1 / 62 + 1 / 61 + 1 / 61)),
        ("a", pytest.approx(1 / 61 + 1 / 62)),
        ("d", pytest.approx(1 / 62)),
        ("c", pytest.approx(1 / 63)),
    ]
    assert rrf_merge([["a"], ["b"]], k=0) == [("a", 1.0), ("b", 1.0)]
    assert rrf_merge([]) == rrf_merge([[], []]) == []


@given(ROWS, SHARE)
def test_both_parts_of_a_fusion_stay_in_bounds(rows, weight: float):
    candidates = pool(rows)
    for fuse in (linear, balanced):
        keyword, semantic = fuse(candidates.keyword, candidates.semantic, weight)
        assert ((keyword >= 0) & (semantic >= 0) & (keyword + semantic <= 1 + 1e-6)).all()


def test_how_high_the_cosines_of_a_model_are_says_nothing():
    parts = [balanced(*np.array([(3, 1, 0), (0.2 * high, 0.5 * high, high)], np.float32), 0.6)[1] for high in (0.3, 0.9)]
    assert parts[0].tolist() == pytest.approx(parts[1].tolist())


def test_meaning_counts_less_where_it_hardly_tells_texts_apart():
    words = np.array([4, 3.9, *range(10)], np.float32)
    apart, alike = (np.array([0.5, 0.8, *np.linspace(0.8 - width, 0.8, 10)], np.float32) for width in (0.7, 0.02))
    assert balanced(words, apart, 0.6)[1][1] > 3 * balanced(words, alike, 0.6)[1][1] > 0
    assert balanced(words, alike, 1.0)[1].tolist() == alike.tolist()


def test_meaning_counts_more_where_words_tell_hardly_more():
    meaning = np.array([0.8, *np.linspace(0.7, 0.5, 11)], np.float32)
    telling, alike = (np.array([4.0, *np.linspace(low, 3.9, 11)], np.float32) for low in (0.1, 3.8))
    of_telling, of_alike = (balanced(words, meaning, 0.6)[1][0] / 0.75 for words in (telling, alike))
    assert (of_telling, of_alike) == pytest.approx((0.6, 0.7))


def test_meaning_counts_less_where_a_text_has_many_rare_words_of_the_question():
    meaning = np.array([0.2, 0.9, 0.1], np.float32)
    shares = [balanced(np.array([best, best / 3, 0], np.float32), meaning, 0.6)[1][1] for best in (0.1, 25, 50, 100)]
    assert shares == pytest.approx([0.45, 0.45, 0.225, 0.1125])


def test_a_weak_candidate_more_moves_no_other():
    few, more = pool([(4, 0.5), (2, 0.9)]), pool([(4, 0.5), (2, 0.9), (0.1, -0.9)])
    scores = [[found.score for found in rank(some, alike, 2)] for some in (few, more)]
    assert scores[0] == scores[1]


@given(ROWS, st.lists(EVIDENCE, min_size=1), st.integers(1, 8))
def test_contributions_sum_to_a_score_in_bounds(rows, evidence: list[FactSupport], limit: int):
    candidates = pool(rows)
    ranked = rank(candidates, by_id(candidates, lambda name: evidence[int(name) % len(evidence)]), limit)

    assert len(ranked) <= limit
    for found in ranked:
        assert found.score == pytest.approx(found.contributions.total)
        assert 0 < found.score <= 1 + 1e-6
    assert [found.score for found in ranked] == sorted((found.score for found in ranked), reverse=True)


@given(ROWS, st.lists(EVIDENCE, min_size=1))
def test_evidence_costs_the_first_place_a_tenth_of_its_relevance_at_most(rows, evidence: list[FactSupport]):
    candidates = pool(rows)
    plain = rank(candidates, alike, 1)
    lifted = rank(candidates, by_id(candidates, lambda name: evidence[int(name) % len(evidence)]), 1)

    if plain:
        relevance = {found.id: found.score for found in rank(candidates, alike, len(rows))}
        assert relevance[lifted[0].id] >= relevance[plain[0].id] / 1.1 - 1e-6


@given(ROWS, st.lists(EVIDENCE, min_size=1), st.integers(1, 5))
@example([(0.0, 1e-45)], [FactSupport()], 1)
def test_looking_up_only_the_contenders_loses_nobody(rows, evidence: list[FactSupport], limit: int):
    candidates = pool(rows)
    support_of = by_id(candidates, lambda name: evidence[int(name) % len(evidence)])

    everything = rank(candidates, support_of, len(rows))

    assert rank(candidates, support_of, limit) == everything[:limit]


def test_a_fact_others_confirm_wins_over_its_equal():
    equals = pool([(3, 0.5), (3, 0.5)])
    ranked = rank(equals, by_id(equals, lambda name: FactSupport(confirmations=float(name == "0001"))), 2)
    assert [found.id for found in ranked] == ["0001", "0000"]


def test_ties_break_by_confidence_and_then_by_id():
    equals = pool([(3, 0.5)] * 4)
    ranked = rank(equals, by_id(equals, lambda name: FactSupport(confidence=0.9 if name == "0002" else 0.5)), 4)
    assert [found.id for found in ranked] == ["0002", "0000", "0001", "0003"]


def test_what_names_the_whole_outranks_the_best_match_that_does_not():
    candidates = pool([(9, 1.0), (0.1, 0.0)], exact=[0.0, 1.0])
    support_of = by_id(candidates, lambda name: FactSupport(1.0, 1.0) if name == "0000" else FactSupport(0.0, 0.0))
    assert [found.id for found in rank(candidates, support_of, 2)] == ["0001", "0000"]


def test_a_hybrid_query_without_any_vector_is_a_keyword_query():
    candidates = pool([(4, float("nan")), (2, float("nan"))])
    assert rank(candidates, alike, 2) == rank(candidates, alike, 2, "keyword")
    assert rank(candidates, alike, 2)[0].components.semantic is None


def by_the_docstring(candidates: Pool, support: list[FactSupport], lent: dict[str, float]) -> dict[str, float]:
    """The score of each candidate by the formula in the module's docstring."""

    def behind(scores: list[float]) -> float:
        return 1 - sorted(scores)[-10] / max(scores) if len(scores) >= 10 and max(scores) > 0 else 1.0

    words, cosines = candidates.keyword.tolist(), [max(cosine, 0.0) for cosine in candidates.semantic.tolist()]
    weight = 0.6 * min(1.0, max(0.1, behind(cosines) / 0.15)) * min(1.0, 25 / max([*words, 1e-9]))
    if len(words) >= 10 and behind(cosines) > max(0.15, behind(words) / 2):
        weight += (1 - weight) / 4
    scores = {}
    for name, word, cosine, exact, fact in zip(candidates.ids, words, cosines, candidates.exact.tolist(), support, strict=True):
        relevance = (1 - weight) * word / max([*words, 1e-9]) + weight * 0.75 * cosine / max(cosines) + lent.get(name, 0.0)
        scores[name] = relevance * (1 + 0.1 * (0.6 * fact.confirmations + 0.4 * fact.trust)) / 1.1 + exact
    return scores


@pytest.mark.parametrize("seed", range(24))
def test_a_ranking_is_that_of_the_formula(seed: int):
    chance = random.Random(seed)
    size, scale = chance.choice([1, 2, 8, 9, 10, 11, 30]), chance.choice([0.05, 1.0, 20.0])
    low = chance.choice([0.0, 0.7, 0.8, 0.9, 0.99])
    candidates = pool(
        [(scale * chance.choice([0.0, chance.uniform(low, 1)]), chance.uniform(low - 0.1, 1)) for _ in range(size)],
        [chance.choice([0.0, 0.0, 0.5, 1.0]) for _ in range(size)],
    )
    support = [FactSupport(chance.random(), chance.random(), chance.random()) for _ in range(size)]
    lent = {name: chance.random() / 5 for name in candidates.ids[::3]} if seed % 2 else {}

    places = rank(candidates, by_id(candidates, lambda name: support[int(name)]), size, related=pipeline.Related(lent=lent))

    scores = {name: score for name, score in by_the_docstring(candidates, support, lent).items() if score > 0}
    assert {place.id: place.score for place in places} == pytest.approx(scores, abs=1e-5)
    assert [place.id for place in places] == sorted(scores, key=lambda name: -scores[name])
    for place in places:
        row = int(place.id)
        assert place.components.confirmations == pytest.approx(support[row].confirmations)
        assert (place.components.keyword, place.components.exact) == (candidates.keyword[row], candidates.exact[row])


def test_what_has_nothing_in_common_with_the_query_is_not_returned():
    assert rank(pool([(0, -0.4), (0, float("nan"))]), alike, 5) == []
    assert rank(pool([]), alike, 5) == []


def test_a_method_uses_its_arm_alone():
    candidates = pool([(9, 0.1), (1, 0.9)])
    assert rank(candidates, alike, 1, "keyword")[0].id == "0000"
    assert rank(candidates, alike, 1, "vector")[0].id == "0001"


def test_evidence_can_be_switched_off():
    candidates = pool([(3, 0.5), (3, 0.49)])
    support_of = by_id(candidates, lambda name: FactSupport(float(name == "0001"), 1.0))
    ranked = rank(candidates, support_of, 2, settings=RankingSettings(evidence_strength=0.0))
    assert [found.id for found in ranked] == ["0000", "0001"]


def ranked(scores: Iterable[tuple[str, float]], is_ranked: Callable[[float], bool]) -> list[str]:
    return [name for name, _ in sorted(filter(lambda one: is_ranked(one[1]), scores), key=lambda one: -one[1])]


@given(ROWS, EVIDENCE, st.sampled_from([0, 1, 60]), st.integers(1, 40))
def test_reciprocal_ranks_of_a_query_are_those_of_its_lists_and_explained(rows, evidence, k: int, limit: int):
    candidates, settings = pool(rows), RankingSettings(fusion="rrf", rrf_k=k, evidence_strength=0.0, depth=5)
    depth = settings.depth_for("hybrid", limit)
    found = rank(candidates, lambda of: alike(of, evidence), limit, "hybrid", settings)

    arms = (candidates.keyword, lambda score: score > 0), (candidates.semantic, lambda score: not np.isnan(score))
    lists = [ranked(zip(candidates.ids, arm.tolist(), strict=True), is_ranked)[:depth] for arm, is_ranked in arms]
    if not lists[1]:
        return
    expected = dict(rrf_merge(lists, k))
    # Sums of other ranks may be the same number and differ in the last bit, so which of two equals comes first is left open.
    assert [round(expected[one.id], 12) for one in found] == sorted((round(e, 12) for e in expected.values()), reverse=True)[
        :limit
    ]
    assert len({one.id for one in found}) == len(found)
    for one in found:
        assert one.score == pytest.approx(expected[one.id] * (k + 1) / 2)
        assert one.contributions.total == pytest.approx(one.score)


def test_evidence_lifts_ranks_as_it_lifts_scores():
    settings, candidates = RankingSettings(fusion="rrf"), pool([(3.0, 0.9), (2.0, 0.8)])
    support_of = by_id(candidates, lambda name: FactSupport(1.0, 1.0) if name == "0001" else FactSupport(0, 0))
    best, full = rank(candidates, support_of, 2, settings=settings)

    assert (best.id, full.id) == ("0001", "0000")
    assert full.score == pytest.approx(1 / 1.1)
    assert best.score == pytest.approx(61 / 62)


def test_document_004_merges_by_keywords_and_confidence():
    found = [Collected("a", 3.0, 0.2), Collected("b", 1.0, 0.9), Collected("b", 2.0, 0.1), Collected("c", 0.5, 0.5)]

    merged = seed_federated(found)

    assert merged == [
        ("b", pytest.approx(1 / 62 + 1 / 61)),
        ("a", pytest.approx(1 / 61 + 1 / 63)),
        ("c", pytest.approx(1 / 63 + 1 / 62)),
    ]
    assert seed_federated(found[::-1]) == merged
    assert seed_federated([]) == []
