"""Lies and garbage change nothing and raise nothing, and no member speaks for another where words are sealed."""

import msgspec
import numpy as np
import pytest

from hive_mind.hive.effects import Received
from hive_mind.hive.policy import TOO_MANY_BOOTS, TOO_MANY_REMOVALS, sealed_entry, sealed_head, sealed_removal
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.policy.registry_service import REGISTRY
from hive_mind.hive.settings import HiveSettings
from hive_mind.model.evidence import Head, Removal, Sealed, Stamp, dot
from hive_mind.model.gathered import Anchors, Probe
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Announce, Changes, FactsRequest, ListRequest, PoolRequest, Receipt, RegistryEntry, Replicate
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.vector import ExactVectors
from tests.hives import MODERATOR, PUMP, PUMP_ID, Hive, assertion, flat, keyring, probe, settings
from tests.unit.hive.each_topology import DOOR, RIGHT

NUMBER = 1 << 63
# One of each kind: every limit is shown in policy/test_admission.
BAD_ASSERTIONS = [
    assertion(confidence=float("nan")),
    assertion(ms=NUMBER),
    assertion(stamp=Stamp(5, NUMBER, b"")),
    assertion(agent=""),
    assertion(root="x" * 100_000),
    assertion(tenant=""),
    assertion(fact_id="zz"),
    assertion(""),
]
GARBAGE = [
    Replicate("", ()),
    Replicate("x" * 100_000, (Changes("no such partition", (RIGHT,)),)),
    Replicate("p", (Changes("\0", (RIGHT,)), Changes("", (RIGHT,)))),
    *(
        Replicate("p", (Changes("all", (Sealed(b"8 bytes!" + bytes(4) + bytes([n + 1]), one),)),))
        for n, one in enumerate(BAD_ASSERTIONS)
    ),
    Replicate("p", (Changes("all", (Sealed(b"", assertion()), Sealed(b"x" * 5_000, assertion()))),)),
    Replicate("p", (Changes("all", (), (), (Head("n0", b"", -5), Head("n0", b"", NUMBER), Head("", b"", 0))),)),
    Receipt("nobody's"),
    Announce((RegistryEntry("", "", Stamp(0)), RegistryEntry("trust/ines", "nonsense", Stamp(5), MODERATOR))),
    Announce((RegistryEntry("trust/ines", "1e999", Stamp(NUMBER, NUMBER, b"x" * 999), MODERATOR),)),
    Announce(
        (RegistryEntry("rating//", '{"good": -1}', Stamp(5), "\0"), RegistryEntry("redacted/", "true", Stamp(5), MODERATOR))
    ),
]


@pytest.mark.parametrize("message", GARBAGE, ids=lambda message: repr(message)[:60])
def test_garbage_is_refused_changes_nothing_and_raises_nothing(message):
    hive = Hive(flat())
    hive.say("n1", DOOR)
    before = hive.live("n0")

    hive.tell("n0", Received("n2", message))

    assert hive.live("n0") == before
    assert hive.found("n0", DOOR) == [DOOR]
    hive.boot("n0")
    assert hive.live("n0") == before


def of_vectors(vector: bytes, **fields) -> Sealed:
    given = assertion(**fields)
    statement = msgspec.structs.replace(given.statement, model="m", vector=vector)
    return Sealed(RIGHT.dot, msgspec.structs.replace(given, statement=statement))


@pytest.mark.parametrize(
    "vector",
    [
        b"123",
        np.ones(3, "<f2").tobytes(),
        np.full(4, np.nan, "<f2").tobytes(),
    ],
    ids=["odd", "short", "not a number"],
)
def test_a_vector_that_is_none_is_found_by_its_words_and_spoils_no_search(vector):
    hive = Hive(flat(), settings(model="m"), new_arm=lambda: ExactVectors(4))
    query = Probe(("pump",), probe("").anchors, np.array([1, 0, 0, 0], np.float32))

    hive.tell("n0", Received("n2", Replicate("p", (Changes("all", (of_vectors(vector),)),))))

    assert hive.found("n0") == [PUMP]
    reply = hive.nodes["n0"].search(PoolRequest("q", "all", 1, query, 1_000), hive.clock())
    assert reply.pool.ids == (PUMP_ID,)
    assert np.isnan(reply.pool.semantic).all()


@pytest.mark.parametrize(
    "asked",
    [
        Probe(("pump",), probe("").anchors, np.ones(3, np.float32)),
        Probe(("pump",), probe("").anchors, np.full(4, np.nan, np.float32)),
        Probe(("pump",), Anchors(((), ("pump",))), None),
        Probe(("pump",), probe("").anchors, None, 1 << 62),
        Probe(("pump",) * 1_000, probe("").anchors),
        Probe(("pump",), probe("").anchors, None, 10, TermStatistics(0, 0.0)),
        Probe(("pump",), probe("").anchors, None, 10, TermStatistics(1, float("inf"), {"pump": 1 << 63})),
        Probe(("pump",), probe("").anchors, None, 10, beside=TermStatistics(-5, float("nan"), {"pump": -1})),
    ],
    ids=[
        *("other model's", "not a number", "empty name", "endless depth", "many terms", "empty", "endless"),
        "negative beside",
    ],
)
def test_a_nonsensical_question_gets_an_answer_and_no_error(asked):
    hive = Hive(flat(), settings(model="m"), new_arm=lambda: ExactVectors(4))
    hive.say("n0", model="m", vector=np.array([1, 0, 0, 0], "<f2").tobytes())
    reply = hive.nodes["n0"].search(PoolRequest("q", "all", 1, asked, 1_000, float("nan")), hive.clock())
    assert reply is not None
    assert set(reply.pool.ids) <= {PUMP_ID}


def test_nobody_can_ask_for_more_than_there_is():
    hive = Hive(flat())
    hive.say("n0")
    node, now = hive.nodes["n0"], hive.clock()

    assert node.search(FactsRequest("q", ("", "zz", "\0", PUMP_ID), -5), now).facts[0].id == PUMP_ID
    assert len(node.search(ListRequest("q", "all", 1, "", 1 << 62, -5), now).facts) == 1
    assert node.search(ListRequest("q", "all", 1, "", 0, -5), now).facts == ()


def sealing(name: str):
    """A node speaks for itself and for the agent that is called like it."""
    return keyring(name, f"agent of {name}", *([MODERATOR] if name == "n2" else []))


def test_a_member_that_lies_deletes_nothing_where_words_are_sealed():
    hive = Hive(flat("n0", "n1", "n2", "liar"), seal_of=sealing)
    texts = [f"Pump {number} is red." for number in range(50)]
    hive.say("n0", *texts, agent="agent of n0")
    hive.wait(15_000)
    at = Stamp(hive.clock.wall_ms, 5, b"liar")
    forged = [
        RegistryEntry(f"redacted/{fact_id(texts[0])}", "true", at, MODERATOR),
        RegistryEntry(f"retracted/{fact_id(texts[1])}", "true", at, MODERATOR, b"no seal of mo"),
        RegistryEntry(f"retracted/{fact_id(texts[2])}/agent of n0", "true", at, "agent of n0"),
        RegistryEntry("moderator/liar", "true", at, MODERATOR),
        RegistryEntry(f"redacted/{fact_id(texts[3])}", "true", at, "liar"),
    ]

    hive.tell("n1", Received("liar", Announce(tuple(forged))))
    assert hive.take_back("liar", fact_id(texts[4]), by=MODERATOR)[0].removed
    # Nor does any agent speak for another.
    hive.take_back("liar", fact_id(texts[5]), by="agent of n0")
    hive.say("liar", DOOR, agent="agent of n0")
    hive.wait(40_000)
    assert hive.who_has(DOOR) <= {"liar"}

    for name in ("n0", "n1", "n2"):
        assert len(hive.live(name)["all"]) == 50
    assert hive.nodes["n1"].refused["a registry entry that its writer did not seal"] >= 4

    hive.say("n0", "Said later.", agent="agent of n0")
    hive.take_back("n0", fact_id(texts[5]), by="agent of n0")
    hive.take_back("n2", fact_id(texts[6]), by=MODERATOR)
    hive.wait(15_000)
    for name in ("n0", "n1", "n2"):
        assert {texts[5], texts[6]}.isdisjoint(given.statement.content for given in hive.live(name)["all"].values())
        assert len(hive.live(name)["all"]) == 49


def test_who_floods_the_registry_forgets_its_own_entries_and_a_journal_does_not_grow():
    hive = Hive(flat("n0", "n1"), seal_of=sealing)
    liar, own = "agent of n1", RegistryEntry("agent/agent of n0", '{"domain": "pumps"}', Stamp(hive.clock.wall_ms), "agent of n0")
    hive.nodes["n0"].registry = hive.nodes["n0"].registry_service._registry = Registry((MODERATOR,), 10)
    said = [own, *(RegistryEntry(f"trust/x{n}", "2.0", Stamp(hive.clock.wall_ms + n), liar) for n in range(100))]

    for start in range(0, len(said), 7):
        some = said[start : start + 7]
        hive.tell("n0", Received("n1", Announce(tuple(sealed_entry(keyring(one.by), one) for one in some))))

    kept = [key for table, key in hive.kept["n0"] if table == REGISTRY]
    assert len(kept) == len(hive.nodes["n0"].registry) == 11
    assert hive.nodes["n0"].registry.get(own.key) == {"domain": "pumps"}
    assert hive.nodes["n0"].refused == {"a registry entry of a writer with too many": 90}


def test_what_a_liar_took_back_before_it_was_said_comes_all_the_same_from_who_has_it():
    """It was believed to be gone, so nobody asks for it; but who has it hears of that, and says what it is."""
    hive = Hive(flat(), seal_of=sealing)
    hive.say("n1", DOOR, agent="agent of n1")
    deaf = hive.nodes["n0"]
    share, actor = deaf.partitions.shares["all"], hive.nodes["n1"].partitions.shares["all"].members.actor
    lie = Removal(fact_id(PUMP), (dot(actor, 2),), "agent of n2", "retracted", Stamp(hive.clock.wall_ms))
    hive.is_lost = lambda _, to, message: to == "n0" and isinstance(message, Replicate)

    share.take((), [sealed_removal(sealing("n2"), "all", lie)], (), deaf.policy)
    hive.say("n1", agent="agent of n1")
    share.join({actor: 2}, (), hive.nodes["n1"].partitions.shares["all"].own_heads(), deaf.policy)
    hive.wait(60_000)

    assert hive.who_has() == {"n0", "n1", "n2"}


def test_a_certified_member_that_fills_memories_is_bounded_and_named():
    """For hours it takes back what nobody wrote, and invents boots; the others go on, and their journals do not grow."""
    strict = PolicySettings(moderators=(MODERATOR,), removals_per_agent=30, boots_per_node=10)
    hive = Hive(flat("n0", "n1", "n2"), HiveSettings(standing=strict), seal_of=sealing)
    hive.say("n0", agent="agent of n0")
    before = len(hive.kept["n1"])
    for number in range(300):
        boot = Head("n2", number.to_bytes(8, "big"), 1 << 39)
        stamp = Stamp(hive.clock.wall_ms + number)
        lie = Removal("0" * 32, (dot(boot.actor, 7),), "agent of n2", "retracted", stamp)
        seal = sealing("n2")
        changes = Changes("all", (), (sealed_removal(seal, "all", lie),), (sealed_head(seal, "all", boot),))
        hive.tell("n1", Received("n2", Replicate(f"p{number}", (changes,))))
    hive.wait(300_000)

    share = hive.nodes["n1"].partitions.shares["all"]
    assert len(share.proofs()) <= 30
    assert len(share.heads) <= 10 + len(hive.nodes)
    assert len(hive.kept["n1"]) < before + 120
    assert hive.nodes["n1"].refused.keys() >= {TOO_MANY_REMOVALS, TOO_MANY_BOOTS}
    assert hive.who_has() == {"n0", "n1", "n2"}
    assert hive.found("n1") == [PUMP]
