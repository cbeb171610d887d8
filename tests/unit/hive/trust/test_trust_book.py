"""Trust from ratings, who counts as a rater, votes, confirmations by weight; and what is promised under attack."""

import numpy as np
import pytest

from benchmarks.trust import accuracy, by_feedback, majority, ring, world
from hive_mind.hive.policy.admission import rating_key
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.trust.contradiction import Claim, fused, vote
from hive_mind.hive.trust.trust_book import NOBODY, Hive, Rating, TrustBook, TrustSettings, k_eff, rating_value, reputations
from hive_mind.model.evidence import Provenance, Stamp

NOW_MS = 1_700_000_000_000
DAY_MS = 86_400_000
SEEDS = range(3)


def rated(registry: Registry, rater: str, subject: str, good: float = 0, bad: float = 0, at_ms: int = NOW_MS) -> None:
    value = f'{{"good":{good},"bad":{bad},"at_ms":{at_ms}}}'
    registry.write(rating_key(rater, subject), value, rater, Stamp(NOW_MS, registry.version, b"n"))


def vouched(registry: Registry, voucher: str, *agents: str) -> None:
    for agent in agents:
        registry.write(f"agent/{agent}", f'{{"voucher":"{voucher}"}}', "mod", Stamp(NOW_MS, registry.version, b"n"))


def trust_of(agent: str, *ratings: Rating, moderators: tuple[str, ...] = (), **who: dict[str, str]) -> float:
    found = reputations(ratings, Hive(frozenset(moderators), **who), NOW_MS, TrustSettings())
    return found[agent].trust if agent in found else 1.0


@pytest.mark.parametrize(
    ("good", "bad", "age_days", "trust"),
    [
        (6, 0, 0, 2 * 7 / 8),
        (0, 6, 0, 2 * 1 / 8),
        # One rater counts for twenty at the most.
        (1_000, 0, 0, 2 * 21 / 22),
        (30, 10, 0, 2 * 16 / 22),
        # Half is forgotten after thirty days, and what comes from the future counts whole and no more.
        (4, 0, 30, 2 * 3 / 4),
        (4, 0, -99, 2 * 5 / 6),
    ],
)
def test_good_experience_raises_trust_and_bad_lowers_it_by_the_beta_rule(good, bad, age_days, trust):
    assert trust_of("ann", Rating("bob", "ann", good, bad, NOW_MS - age_days * DAY_MS)) == pytest.approx(trust)


def test_a_rating_that_claims_a_later_time_than_its_stamp_fades_all_the_same():
    registry = Registry()
    rated(registry, "bob", "ann", good=4, at_ms=NOW_MS + 3_650 * DAY_MS)
    assert TrustBook(registry).of("ann", NOW_MS + 30 * DAY_MS) == pytest.approx(2 * 3 / 4, abs=0.01)


def test_a_rater_that_moderators_found_wrong_counts_less():
    slander = [Rating(name, "ann", 0, 20, NOW_MS) for name in ("eve", "mallory")]
    known_wrong = [Rating("mod", one.rater, 0, 18, NOW_MS) for one in slander]
    assert trust_of("ann", *slander, *known_wrong, moderators=("mod",)) > 2.5 * trust_of("ann", *slander, moderators=("mod",))


def test_raters_that_no_moderator_found_good_count_once_more_than_a_third_of_the_hive_says_so():
    def slandered(raters: int, agents: int) -> float:
        rows = [Rating(f"eve {number}", "ann", 0, 20, NOW_MS) for number in range(raters)]
        return reputations(rows, Hive(frozenset({"mod"}), agents=agents), NOW_MS, TrustSettings()).get("ann", NOBODY).trust

    assert [slandered(raters, 12) for raters in (1, 2, 3, 4)] == [1.0] * 4
    assert slandered(5, 12) < 0.1
    assert slandered(1, 3) == 1.0
    assert slandered(2, 4) < 0.1


def test_a_rater_that_a_moderator_found_good_counts_alone():
    known = Rating("mod", "bob", 5, 0, NOW_MS)
    assert trust_of("ann", Rating("bob", "ann", 0, 20, NOW_MS), known, moderators=("mod",)) < 0.1


def test_only_moderators_rate_moderators_and_nobody_silences_one():
    registry = Registry(["mod", "other"])
    for number in range(9):
        rated(registry, f"eve {number}", "mod", bad=20)
    book = TrustBook(registry)
    assert book.of("mod", NOW_MS) == 1.0
    rated(registry, "other", "mod", bad=20)
    assert book.of("mod", NOW_MS) < 0.1
    assert not book.is_quarantined("mod", NOW_MS)


def test_pinned_trust_holds_whatever_anybody_rated_and_pinning_it_low_hides_nobody():
    registry = Registry(["mod"])
    rated(registry, "mod", "ann", bad=20)
    registry.write("trust/ann", "1.7", "mod", Stamp(NOW_MS))
    registry.write("trust/zoe", "0.0", "mod", Stamp(NOW_MS))
    book = TrustBook(registry)

    assert [(book.of(name, NOW_MS), book.is_quarantined(name, NOW_MS)) for name in ("ann", "zoe")] == [(1.7, False), (0.0, False)]
    registry.write("trust/ann", "", "mod", Stamp(NOW_MS + 1))
    assert book.of("ann", NOW_MS) < 0.1
    assert book.is_quarantined("ann", NOW_MS)


def test_agents_of_one_voucher_do_not_rate_each_other_and_speak_as_one():
    registry = Registry(["mod"])
    sybils = [f"sybil {number}" for number in range(30)]
    vouched(registry, "eve", *sybils)
    rated(registry, sybils[0], sybils[1], good=20)
    for sybil in sybils:
        rated(registry, sybil, "ann", bad=20)
    book = TrustBook(registry)

    assert book.of(sybils[1], NOW_MS) == 1.0
    assert book.of("ann", NOW_MS) == 1.0, "they have one voice, and a third of the hive has eleven"
    assert not book.is_quarantined("ann", NOW_MS)


def test_quarantine_needs_two_raters_or_a_moderator():
    registry = Registry(["mod"])
    book = TrustBook(registry)
    rated(registry, "mod", "eve", good=1)
    rated(registry, "eve", "ann", bad=20)
    assert book.of("ann", NOW_MS) < 0.6
    assert not book.is_quarantined("ann", NOW_MS)

    rated(registry, "bob", "ann", bad=3)
    assert book.is_quarantined("ann", NOW_MS)

    rated(registry, "mod", "zoe", bad=4)
    assert not book.is_quarantined("zoe", NOW_MS)
    rated(registry, "mod", "zoe", bad=5)
    assert book.is_quarantined("zoe", NOW_MS)


def test_a_vouched_agent_has_a_voice_of_its_own_once_it_is_proven_and_none_is_called_like_a_voucher():
    registry = Registry(["mod"])
    vouched(registry, "eve", "ann", "bob")
    book = TrustBook(registry)
    book.of("ann", NOW_MS)
    assert book.voucher("ann") == book.voucher("bob") not in {"ann", book.voucher("eve")}

    rated(registry, "mod", "ann", good=6)
    book.of("ann", NOW_MS)

    assert (book.voucher("ann"), book.voucher("zoe")) == ("ann", "zoe")


def test_nothing_is_computed_again_while_nothing_that_matters_changed(monkeypatch):
    registry, computed = Registry(["mod"]), []
    monkeypatch.setattr("hive_mind.hive.trust.trust_book.reputations", lambda *given: computed.append(given) or {})
    book = TrustBook(registry)

    for _ in range(100):
        book.of("ann", NOW_MS)
    registry.write("quarantine/f1", "true", "mod", Stamp(NOW_MS))
    book.of("ann", NOW_MS)
    assert len(computed) == 1

    rated(registry, "bob", "ann", good=1)
    book.of("ann", NOW_MS)
    book.of("ann", NOW_MS + 3_600_000)
    assert len(computed) == 3


def test_another_experience_is_added_to_what_is_left_of_those_before():
    assert rating_value(None, True, NOW_MS) == f'{{"good":1.0,"bad":0.0,"at_ms":{NOW_MS}}}'
    earlier = {"good": 4.0, "bad": 2.0, "at_ms": NOW_MS - 30 * DAY_MS}
    assert rating_value(earlier, False, NOW_MS) == f'{{"good":2.0,"bad":2.0,"at_ms":{NOW_MS}}}'


def row(agent: str, root: str, ms: int) -> Provenance:
    return Provenance(agent, root, 0.9, Stamp(ms))


def test_confirmations_by_weight_are_their_count_while_all_are_trusted_one():
    rows = [
        row("ann", "doc a", 1),
        row("bob", "doc b", 2),
        row("cal", "doc c", 3),
        row("dan", "doc c", 4),
        row("eli", "doc a", 5),
    ]

    assert k_eff(rows, lambda _: 1.0) == 2.0
    assert k_eff(rows, {"bob": 0.5, "cal": 0.2, "dan": 1.5}.__getitem__) == 2.0
    assert k_eff([], lambda _: 1.0) == k_eff(rows[:1], lambda _: 1.0) == 0.0


def test_a_hundred_sybils_confirm_once_and_not_each_other():
    rows = [row("ann", "doc", 0), *(row(f"sybil {n}", f"doc {n}", n + 1) for n in range(100))]

    def voucher(agent: str) -> str:
        return "voucher/eve" if agent.startswith("sybil") else agent

    assert k_eff(rows, lambda _: 1.0, voucher) == 1.0
    assert k_eff(rows[1:], lambda _: 1.0, voucher) == 0.0


def test_one_root_has_one_vote_however_many_copy_it():
    claims = [Claim("ann", "8443", "doc"), Claim("bob", "9443", "a"), Claim("cal", "9443", "a"), Claim("dan", "9443", "a")]
    votes = fused(claims, lambda _: 1.0)
    assert votes["8443"] == votes["9443"]


def test_an_agent_that_says_two_things_is_counted_for_the_last():
    claims = [Claim("ann", "old", "doc", 1.0, Stamp(1)), Claim("ann", "new", "doc", 1.0, Stamp(2))]
    assert list(fused(claims, lambda _: 1.0)) == ["new"]


def test_the_less_sure_an_agent_is_the_less_it_is_heard_and_a_liar_is_never_heard_more():
    assert vote(1.8, 0.3) < vote(1.8, 0.9)
    assert vote(0.2, 0.0) == vote(0.2, 1.0) < vote(1.0, 1.0)


def test_known_liars_can_not_sink_what_is_right_by_saying_it():
    liars = [Claim(f"liar {n}", "right", f"root {n}") for n in range(50)]
    claims = [Claim("ann", "right", "a"), Claim("bob", "right", "b"), Claim("cal", "wrong", "c"), *liars]
    votes = fused(claims, lambda agent: 0.0 if agent.startswith("liar") else 1.0)
    assert votes["right"] > votes["wrong"]


def figures(method, **scenario) -> float:
    return float(np.mean([method(world(seed, **scenario)) for seed in SEEDS]))


@pytest.mark.parametrize("colluders", [5, 10])
def test_with_up_to_a_third_of_colluders_and_two_percent_feedback_the_right_value_wins(colluders):
    assert figures(lambda w: accuracy(w, by_feedback(w)), colluders=colluders, feedback=0.02) >= 0.9
    assert figures(majority, colluders=colluders, feedback=0.02) < 0.9


def test_a_hundred_sybils_of_one_voucher_win_nothing_without_any_feedback():
    assert figures(lambda w: accuracy(w, by_feedback(w)), sybils=100, feedback=0.0) >= 0.87
    assert figures(majority, sybils=100, feedback=0.0) == 0.0


def test_copies_weigh_nothing_and_a_world_without_attack_loses_nothing():
    assert figures(lambda w: accuracy(w, by_feedback(w)), copied=0.5) > figures(majority, copied=0.5) + 0.01
    assert figures(lambda w: accuracy(w, by_feedback(w))) >= figures(majority)


@pytest.mark.parametrize(("members", "least"), [(5, 0.97), (10, 0.9)])
def test_a_ring_of_raters_of_up_to_a_third_does_not_make_itself_trusted(members, least):
    rows = np.mean([ring(seed, members, TrustSettings(eigentrust_agents_min=0)) for seed in SEEDS], axis=0)
    assert rows[0] >= least
    assert rows[2] < 1.0 < rows[1]


def test_many_agents_are_weighed_by_eigentrust_and_few_are_not():
    slander = [Rating(f"eve {number}", "ann", 0, 20, NOW_MS) for number in range(20)]
    ratings = [*slander, Rating("mod", "bob", 5, 0, NOW_MS)]

    few = reputations(ratings, Hive(frozenset({"mod"}), agents=50), NOW_MS, TrustSettings())
    many = reputations(ratings, Hive(frozenset({"mod"}), agents=51), NOW_MS, TrustSettings())

    assert few["ann"].trust < 0.1
    assert many["ann"].trust == 1.0
