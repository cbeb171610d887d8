"""Whatever is rated: T stays in [0, 2], is 1.0 by default, and depends on what is known and not on the order it came in."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.trust.contradiction import Claim, fused
from hive_mind.hive.trust.trust_book import NOBODY, Hive, Rating, TrustBook, TrustSettings, beta_trust, k_eff, reputations
from hive_mind.model.evidence import Provenance, Stamp
from hive_mind.model.messages import RegistryEntry

NOW_MS = 1_700_000_000_000
NAMES = st.sampled_from(["ann", "bob", "cal", "dan", "eve", "mod"])
COUNTS = st.floats(0, 1e12) | st.integers(0, 30)
RATINGS = st.lists(st.builds(Rating, NAMES, NAMES, COUNTS, COUNTS, st.integers(0, 2 * NOW_MS)), max_size=20)
HIVES = st.builds(
    Hive,
    st.frozensets(NAMES, max_size=2),
    st.dictionaries(NAMES, st.floats(-1e6, 1e6), max_size=2),
    st.dictionaries(NAMES, st.sampled_from(["voucher/v", "voucher/w"]), max_size=5),
    st.sampled_from([0, 1_000]),
)
CLAIMS = st.lists(
    st.builds(
        Claim,
        NAMES,
        st.sampled_from("xyz"),
        st.sampled_from(["r", "s", "t"]),
        st.floats(0, 1),
        st.builds(Stamp, st.integers(0, 3)),
    ),
    max_size=8,
)


@given(RATINGS, HIVES)
def test_trust_is_from_zero_to_two_whatever_was_rated_and_pinned(ratings, hive):
    for known in reputations(ratings, hive, NOW_MS, TrustSettings()).values():
        assert 0.0 <= known.trust <= 2.0
        assert known.evidence >= 0.0


@given(RATINGS, HIVES, st.randoms(use_true_random=False))
def test_trust_does_not_depend_on_the_order_of_ratings(ratings, hive, chance):
    once = list({(row.rater, row.subject): row for row in ratings}.values())
    shuffled = chance.sample(once, len(once))
    assert reputations(once, hive, NOW_MS, TrustSettings()) == reputations(shuffled, hive, NOW_MS, TrustSettings())


@given(RATINGS, HIVES, NAMES)
def test_who_was_neither_rated_by_others_nor_pinned_is_trusted_exactly_one(ratings, hive, name):
    others = [row for row in ratings if row.subject != name]
    unpinned = replace(hive, pinned={agent: trust for agent, trust in hive.pinned.items() if agent != name})
    assert reputations(others, unpinned, NOW_MS, TrustSettings()).get(name, NOBODY).trust == 1.0


@given(
    st.lists(
        st.tuples(st.sampled_from(["trust", "rating/bob", "agent", "moderator"]), NAMES, st.text(max_size=30), NAMES), max_size=20
    )
)
def test_nothing_anybody_writes_into_the_registry_breaks_trust(rows):
    registry = Registry(["mod"])
    registry.take(
        [RegistryEntry(f"{kind}/{name}", value, Stamp(n), by) for n, (kind, name, value, by) in enumerate(rows)], NOW_MS
    )
    book = TrustBook(registry)

    for name in ("ann", "bob", "mod"):
        assert 0.0 <= book.of(name, NOW_MS) <= 2.0


@given(COUNTS, COUNTS, st.floats(0, 1e6))
def test_one_more_good_experience_never_lowers_trust_nor_a_bad_one_raises_it(good, bad, more):
    assert beta_trust(0, 0) == 1.0
    assert beta_trust(good + more, bad) >= beta_trust(good, bad) - 1e-9
    assert beta_trust(good, bad + more) <= beta_trust(good, bad) + 1e-9


@given(CLAIMS, st.dictionaries(NAMES, st.floats(0, 2), min_size=6, max_size=6))
def test_votes_do_not_depend_on_order(claims, trust):
    votes = fused(claims, lambda agent: trust.get(agent, 1.0))
    assert fused(claims[::-1], lambda agent: trust.get(agent, 1.0)) == votes or len({(c.agent, c.stamp) for c in claims}) < len(
        claims
    )


@given(
    st.lists(
        st.builds(Provenance, NAMES, st.text("ab", max_size=2), st.just(1.0), st.builds(Stamp, st.integers(0, 9))), max_size=8
    )
)
def test_weighed_confirmations_are_at_most_their_count_where_nobody_is_trusted_more_than_one(rows):
    roots = len({row.root for row in rows})
    assert 0.0 <= k_eff(rows, lambda _: 1.0) <= max(0, roots - 1)
