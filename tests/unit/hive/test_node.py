"""What nodes promise the agents attached to them, in each topology: sharing, taking back, judging, finding."""

import msgspec
import numpy as np
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Acknowledge, Done, Leave, Persist, Promote, Received, Retract, Say, Send, Tick
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.standing import StandingSettings
from hive_mind.model.evidence import Head, Provenance, Sealed, Stamp, dot
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Announce, Changes, FactsRequest, ListRequest, PoolRequest, Receipt, RegistryEntry, Replicate
from hive_mind.model.probe import Anchors, Probe
from hive_mind.model.scores import TermStatistics
from hive_mind.ranking.vector import ExactVectors
from tests.hives import (
    FIRST_MS,
    MODERATOR,
    PUMP,
    PUMP_ID,
    Hive,
    assertion,
    federated,
    flat,
    keyring,
    probe,
    promotion,
    settings,
    sharded,
)

DOOR = "The door is open."
TOPOLOGIES = {"single": lambda: flat("n0"), "flat": flat, "federated": federated, "sharded": sharded}


@pytest.fixture(params=TOPOLOGIES)
def hive(request) -> Hive:
    made = Hive(TOPOLOGIES[request.param]())
    # Long enough for every node to agree with the others on what time it is.
    made.wait(40_000)
    return made


def ends(hive: Hive) -> tuple[str, str]:
    """Two nodes as far apart as there are."""
    return hive.topology.nodes[0], hive.topology.nodes[-1]


def vouched(hive: Hive, name: str, id: str = PUMP_ID) -> list[Provenance]:
    """What a fact has behind it, fetched from whoever has it."""
    facts = [fact for fact in hive.listed(name).facts if fact.id == id]
    return list(facts[0].provenance) if facts else []


# ── one content is one fact ───────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_said_anywhere_is_found_everywhere(hive):
    here, there = ends(hive)

    (held,) = hive.say(here)

    assert held.fact_id == PUMP_ID
    assert held.refused == ""
    for name in hive.topology.nodes:
        assert hive.found(name) == [PUMP]
    assert hive.ask(there).completeness == 1.0


def test_one_content_is_one_fact_with_the_provenance_of_each_who_said_it():
    for make in (TOPOLOGIES["flat"], TOPOLOGIES["sharded"]):
        hive = Hive(make())
        names = hive.topology.nodes
        for number in range(12):
            hive.say(names[number % len(names)], agent=f"agent {number}", confidence=0.95)
        hive.wait(20_000)

        assert len(hive.ask(names[0]).pool) == 1
        (fact,) = hive.listed(names[0]).facts
        assert fact.confirmations == 11
        assert fact.status == "confirmed"
        assert sorted(row.agent for row in fact.provenance) == sorted(f"agent {number}" for number in range(12))


def test_the_same_agent_saying_it_again_adds_nothing_and_writes_nothing_to_the_journal_but_its_clock(hive):
    here, there = ends(hive)
    hive.say(here)
    before = hive.live(here)

    hive.say(here)

    assert hive.live(here) == before
    assert len(vouched(hive, there)) == 1


def test_spelling_does_not_make_another_fact(hive):
    here, there = ends(hive)
    hive.say(here, "The  pump is\nred. ", agent="bo")
    hive.say(here)

    assert len(vouched(hive, there)) == 2


def test_two_agents_that_read_the_same_book_do_not_confirm_each_other(hive):
    here, _ = ends(hive)
    hive.say(here, agent="ines", root="a book")
    hive.say(here, agent="bo", root="a book")

    fact = hive.listed(here).facts[0]
    assert (fact.confirmations, fact.status, len(fact.provenance)) == (0, "held", 2)
    assert hive.ask(here).evidence.confirmations.tolist() == [0.0]

    hive.say(here, agent="cy", root="own eyes")
    fact = hive.listed(here).facts[0]
    assert (fact.confirmations, fact.status) == (1, "confirmed")
    assert hive.ask(here).evidence.confirmations[0] > 0


def test_what_cannot_be_taken_has_a_reason_and_holds_up_nothing_else(hive):
    here, _ = ends(hive)
    promotions = [promotion(""), promotion(confidence=8100.0), promotion(DOOR), promotion("half \ud800"), promotion(agent="")]

    held = hive.request(here, lambda request: Promote(request, promotions))

    assert [one.refused != "" for one in held] == [True, True, False, True, True]
    assert hive.found(here, DOOR) == [DOOR]


def test_whether_a_holder_has_it_is_said_at_once_or_when_the_first_one_answers():
    hive = Hive(sharded())
    outside = next(name for name in hive.topology.nodes if name not in hive.topology.holders(hive.topology.home(PUMP_ID, "")))
    inside = hive.topology.holders(hive.topology.home(PUMP_ID, ""))[0]
    hive.is_lost = lambda *_: True

    (held,) = hive.say(outside)
    assert not held.is_shared
    assert hive.shared == []
    (held,) = hive.say(inside, agent="bo")
    assert held.is_shared

    hive.is_lost = lambda *_: False
    hive.wait(10_000)
    assert hive.shared.count((outside, (PUMP_ID,))) == 1


# ── taking back ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_its_author_takes_back_nobody_sees_any_more(hive):
    here, there = ends(hive)
    hive.say(here)

    (retracted,) = hive.take_back(here)

    assert (retracted.removed >= 1, retracted.refused) == (True, "")
    for name in (here, there):
        assert hive.found(name) == []
        assert hive.found(name, "") == []
        assert hive.listed(name).facts == ()
    assert hive.who_has() == set()


def test_a_stranger_can_not_take_it_back_nor_overwrite_it(hive):
    here, there = ends(hive)
    hive.say(here, speaker="ines")

    (retracted,) = hive.take_back(here, by="bo")
    hive.say(here, agent="bo", speaker="bo", confidence=0.1)

    assert retracted.refused == "only its author or a moderator may take it back"
    (fact,) = hive.listed(there).facts
    assert (fact.statement.speaker, fact.confidence, fact.provenance[0].agent) == ("ines", 0.8, "ines")


def test_a_fact_stays_while_somebody_else_vouches_for_it(hive):
    here, there = ends(hive)
    hive.say(here)
    hive.say(here, agent="bo")

    hive.take_back(here)

    assert [row.agent for row in vouched(hive, there)] == ["bo"]
    assert hive.found(there) == [PUMP]


def test_a_moderator_takes_back_everybodys_wherever_they_are(hive):
    here, there = ends(hive)
    hive.say(here)
    hive.say(there, agent="bo")

    (retracted,) = hive.take_back(there, by=MODERATOR)
    hive.wait(15_000)

    assert retracted.refused == ""
    assert hive.who_has() == set()
    assert hive.found(here) == hive.found(there) == []


def test_a_moderators_word_covers_what_was_under_way_and_not_what_is_said_later():
    hive = Hive(flat())
    hive.wait(40_000)
    hive.is_lost = lambda _, __, message: isinstance(message, Replicate)
    hive.say("n0")
    hive.is_lost = lambda *_: False
    hive.clock.pass_(10)

    hive.take_back("n2", by=MODERATOR)
    hive.wait(5_000)
    assert hive.who_has() == set()

    late = Sealed(dot(b"8 bytes!", 1), assertion(agent="bo", ms=FIRST_MS - 1))
    hive.tell("n1", Received("n9", Replicate("", (Changes("all", (late,)),))))
    assert hive.who_has() == set()

    hive.say("n0", agent="bo")
    assert hive.who_has() == {"n0", "n1", "n2"}
    assert hive.found("n2") == [PUMP]


def test_a_parcel_that_names_a_partition_twice_is_durable_before_its_receipt():
    hive = Hive(flat())
    first, second = (Sealed(dot(b"8 bytes!", n), assertion(content)) for n, content in ((1, "One."), (2, "Two.")))

    hive.tell(
        "n1", Received("n9", Replicate("", (Changes("all", (first,)), Changes("all", (second,)), Changes("all", (first,)))))
    )

    hive.boot("n1")
    assert hive.who_has("One.") == hive.who_has("Two.") == {"n1"}


def test_an_author_takes_back_what_it_said_at_another_node_or_before_that_one_lost_its_memory():
    hive = Hive(sharded())
    hive.say("n0")
    hive.say("n0", agent="bo")
    hive.kept["n0"] = {}
    hive.boot("n0")
    hive.clock.pass_(10)

    (retracted,) = hive.take_back("n0")
    hive.wait(15_000)

    assert retracted.refused == ""
    assert [row.agent for row in vouched(hive, "n4")] == ["bo"]


def test_redacted_is_for_ever_and_saying_it_again_is_refused(hive):
    here, there = ends(hive)
    hive.say(here)

    assert hive.write(there, f"redacted/{PUMP_ID}") == ""
    hive.wait(15_000)
    assert hive.who_has() == set()

    (held,) = hive.say(here, agent="bo")
    assert held.refused == "it was taken back for all"
    assert hive.write(there, f"redacted/{PUMP_ID}", "") != ""
    assert hive.write(there, f"redacted/{PUMP_ID}", "false") != ""
    hive.boot(here)
    late = Sealed(dot(b"8 bytes!", 1), assertion(agent="bo", ms=FIRST_MS + 10_000_000))
    hive.tell(here, Received(there, Replicate("", (Changes(hive.topology.home(PUMP_ID, here), (late,)),))))
    # Just started, a node does not know what time it is: it hides at once and removes for good when it does.
    assert hive.found(here) == hive.found(here, "", is_local=True) == []
    hive.wait(90_000)
    assert hive.who_has() == set()


def test_only_moderators_redact(hive):
    here, _ = ends(hive)
    hive.say(here)

    assert "is written by moderators" in hive.write(here, f"redacted/{PUMP_ID}", by="bo")
    assert hive.found(here) == [PUMP]


def test_one_id_that_is_none_does_not_undo_what_was_taken_back_beside_it(hive):
    here, there = ends(hive)
    hive.say(here)

    nonsense = ["x" * 5_000, "\ud800"]
    outcomes = hive.take_back(here, PUMP_ID, *nonsense)
    assert [one.refused == "" for one in outcomes] == [True, False, False]
    assert all(one.refused for one in hive.take_back(here, *nonsense, by=MODERATOR))

    assert hive.found(there) == []
    hive.boot(here)
    assert hive.found(here) == []


# ── judging ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_fact_under_quarantine_is_found_by_nobody_and_shown_to_who_asks_for_it(hive):
    here, there = ends(hive)
    hive.say(here)

    assert hive.write(there, f"quarantine/{PUMP_ID}") == ""
    hive.wait(15_000)

    for name in hive.topology.nodes:
        assert hive.found(name) == hive.found(name, "") == []
        assert hive.listed(name).facts == ()
    shown = [fact for name in hive.topology.nodes if (fact := hive.fact(name)) is not None]
    assert {fact.status for fact in shown} == {"quarantined"}

    hive.write(there, f"quarantine/{PUMP_ID}", "false")
    hive.wait(15_000)
    assert hive.found(here) == hive.found(there) == [PUMP]


def test_trust_is_pinned_by_moderators_only_and_clamped(hive):
    here, there = ends(hive)

    assert hive.write(here, "trust/ines", "2.0", by="ines") != ""
    assert hive.nodes[here].standing.trust("ines") == 1.0
    for value, trust in (("8100", 2.0), ("-3", 0.0), ("1.5", 1.5)):
        assert hive.write(here, "trust/ines", value) == ""
        hive.wait(15_000)
        assert hive.nodes[there].standing.trust("ines") == trust
    assert hive.write(here, "trust/ines", "NaN") != ""


def test_trust_counts_in_the_evidence_of_what_an_agent_says(hive):
    here, there = ends(hive)
    hive.say(here)
    before = float(hive.ask(there).evidence.trust[0])

    hive.write(here, "trust/ines", "2.0")
    hive.wait(15_000)

    assert float(hive.ask(there).evidence.trust[0]) > before


def test_an_agent_known_to_be_wrong_is_not_found_any_more_and_those_who_confirm_it_are():
    hive = Hive(flat())
    hive.say("n0", "The pump is blue.", agent="liar")
    hive.say("n0", agent="liar")
    hive.say("n0", agent="bo")
    rating = msgspec.json.encode({"good": 0, "bad": 10, "at_ms": FIRST_MS}).decode()
    for rater in ("ann", "ben"):
        assert hive.write("n1", f"rating/{rater}/liar", rating, by=rater) == ""
    hive.wait(15_000)

    assert hive.found("n2", "pump") == [PUMP]
    assert [row.agent for row in vouched(hive, "n2")] == ["bo"]


def test_what_contradicts_itself_is_marked_and_both_are_found(hive):
    here, there = ends(hive)
    hive.say(here, "The pump holds 5 bar.", "The pump holds 7 bar.")
    hive.say(here, DOOR, concept="door")

    assert sorted(hive.found(there, "pump bar")) == ["The pump holds 5 bar.", "The pump holds 7 bar."]
    assert hive.fact(here, fact_id(DOOR)) is None or hive.fact(here, fact_id(DOOR)).status == "held"


@pytest.mark.parametrize("name", ["single", "flat", "federated"])
def test_what_contradicts_itself_where_it_is_kept_together_is_disputed(name):
    hive = Hive(TOPOLOGIES[name]())
    hive.say("n0", "The pump holds 5 bar.", "The pump holds 7 bar.")
    hive.say("n0", DOOR, concept="door")

    assert {fact.content: fact.status for fact in hive.listed("n0").facts} == {
        "The pump holds 5 bar.": "disputed",
        "The pump holds 7 bar.": "disputed",
        DOOR: "held",
    }


def test_a_fact_disputed_no_more_is_held_again():
    hive = Hive(flat("n0"))
    hive.say("n0", "The pump holds 5 bar.", "The pump holds 7 bar.")
    assert hive.fact("n0", fact_id("The pump holds 5 bar.")).status == "disputed"

    hive.take_back("n0", fact_id("The pump holds 7 bar."))

    assert hive.fact("n0", fact_id("The pump holds 5 bar.")).status == "held"


def test_least_confidence_is_asked_of_all(hive):
    here, there = ends(hive)
    hive.say(here, confidence=0.5)

    assert hive.found(there, least=0.6) == []
    assert hive.found(there, least=0.5) == [PUMP]


# ── lies and garbage ──────────────────────────────────────────────────────────────────────────────────────────────────

RIGHT = Sealed(dot(b"8 bytes!", 1), assertion())
NUMBER = 1 << 63
BAD_ASSERTIONS = [
    assertion(confidence=8100.0),
    assertion(confidence=float("nan")),
    assertion(ttl_ms=-1),
    assertion(ttl_ms=NUMBER),
    assertion(expires_ms=NUMBER),
    assertion(ms=-1),
    assertion(ms=NUMBER),
    assertion(stamp=Stamp(5, NUMBER, b"")),
    assertion(stamp=Stamp(5, 0, b"x" * 1_000)),
    assertion(agent=""),
    assertion(agent="x" * 100_000),
    assertion(root="x" * 100_000),
    assertion(tenant="other"),
    assertion(tenant=""),
    assertion(fact_id=""),
    assertion(fact_id="zz"),
    assertion(""),
    assertion("x" * 100_000),
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


def test_what_was_refused_is_counted_by_its_reason():
    hive = Hive(flat())

    hive.tell("n0", Received("n2", Replicate("p", (Changes("all", (Sealed(RIGHT.dot, assertion(confidence=2.0)),)),))))

    assert hive.nodes["n0"].refused == {"a confidence is a number from 0 to 1": 1}


def of_vectors(vector: bytes, **fields) -> Sealed:
    given = assertion(**fields)
    statement = msgspec.structs.replace(given.statement, model="m", vector=vector)
    return Sealed(RIGHT.dot, msgspec.structs.replace(given, statement=statement))


@pytest.mark.parametrize(
    "vector",
    [
        b"x",
        b"123",
        np.ones(3, "<f2").tobytes(),
        np.ones(5, "<f2").tobytes(),
        np.full(4, np.nan, "<f2").tobytes(),
        np.full(4, np.inf, "<f2").tobytes(),
    ],
    ids=["one byte", "odd", "short", "long", "not a number", "endless"],
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
        Probe(("pump",), probe("").anchors, None, 0),
        Probe(("pump",), probe("").anchors, None, -5),
        Probe(("pump",), probe("").anchors, None, 1 << 62),
        Probe(("pump",) * 1_000, probe("").anchors),
        Probe(("pump",), probe("").anchors, None, 10, TermStatistics(0, 0.0)),
        Probe(("pump",), probe("").anchors, None, 10, TermStatistics(-5, float("nan"), {"pump": -1})),
        Probe(("pump",), probe("").anchors, None, 10, TermStatistics(1, float("inf"), {"pump": 1 << 63})),
    ],
    ids=[
        "other model's",
        "not a number",
        "empty name",
        "no depth",
        "negative depth",
        "endless depth",
        "many terms",
        "empty",
        "negative",
        "endless",
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
    assert hive.take_back("liar", fact_id(texts[4]), by=MODERATOR)
    hive.wait(40_000)

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


def test_no_agent_speaks_for_another_where_words_are_sealed():
    hive = Hive(flat(), seal_of=sealing)
    hive.say("n0", agent="agent of n0")

    hive.take_back("n1", by="agent of n0")
    hive.say("n1", DOOR, agent="agent of n0")
    hive.wait(15_000)

    assert hive.who_has() >= {"n0", "n2"}
    assert hive.who_has(DOOR) <= {"n1"}


# ── the order of effects ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "event", [Promote("r", [promotion(DOOR)]), Retract("r", [PUMP_ID], "ines"), Retract("r", [PUMP_ID], MODERATOR)], ids=str
)
def test_nothing_is_sent_or_answered_before_it_is_durable(event):
    hive = Hive(flat())
    hive.say("n0")

    effects = hive.tell("n0", event)

    assert isinstance(effects[0], Persist)
    assert isinstance(effects[-1], Done)
    assert any(isinstance(effect, Send) for effect in effects[1:-1])


def test_a_receipt_and_an_acknowledgement_come_after_what_they_promise_is_durable():
    hive = Hive(flat())
    message = Replicate("p", (Changes("all", (RIGHT,)),))

    effects = hive.nodes["n0"].handle(Received("n1", message, "delivery 7"), hive.clock())

    assert [type(effect) for effect in effects] == [Persist, Send, Acknowledge]
    assert effects[1].message == Receipt("p")


def test_a_clock_that_was_set_back_while_the_node_was_down_makes_nothing_older_than_what_was_said():
    """Otherwise who takes back and says again would not be believed the second time."""
    hive = Hive(flat("n0"))
    hive.say("n0")
    before = hive.fact("n0").provenance[0].stamp

    hive.clock.wall_ms -= 3_600_000
    hive.boot("n0")
    hive.say("n0", DOOR)

    assert hive.fact("n0", fact_id(DOOR)).provenance[0].stamp > before


def test_a_message_that_comes_again_is_receipted_and_written_once():
    hive = Hive(flat())
    message = Replicate("p", (Changes("all", (RIGHT,)),))
    hive.tell("n0", Received("n1", message))

    again = hive.tell("n0", Received("n1", message))

    assert [type(effect) for effect in again] == [Send]
    assert again[0] == Send(("n1",), Receipt("p"))


def test_a_node_says_when_it_wants_to_be_woken_and_has_nothing_to_do_before():
    hive = Hive(flat())
    hive.wait(40_000)
    node = hive.nodes["n0"]

    assert node.wake_at_ms(hive.clock()) > hive.clock.mono_ms
    assert node.handle(Tick(), hive.clock()) == []


def test_a_quota_keeps_the_newest_of_a_flood_and_everything_of_others():
    hive = Hive(flat(), settings(quota=20))
    hive.say("n0", agent="bo")

    for number in range(0, 60, 10):
        hive.say("n1", *(f"Flood {number + one}." for one in range(10)), agent="flood")
    hive.wait(30_000)

    for name in hive.topology.nodes:
        contents = {given.statement.content for given in hive.live(name)["all"].values()}
        assert contents == {PUMP, *(f"Flood {number}." for number in range(40, 60))}


def test_tenants_do_not_hear_each_other():
    hive = Hive(flat())
    stranger = Hive(flat(), HiveSettings(standing=StandingSettings(tenant="other")))
    stranger.say("n0")

    for _, to, message in stranger.sent:
        hive.tell(to, Received("n0", message))

    assert hive.who_has() == set()
    assert hive.nodes["n1"].refused == {"another tenant's": 1}


@pytest.mark.parametrize("event", [Leave(), Say("request", ("n1",), "note", b"")])
def test_what_only_a_member_can_do_is_refused_and_leaves_nobody_waiting(event):
    hive = Hive(flat())

    with pytest.raises(InvalidInput, match="a node by itself does not know how to"):
        hive.nodes["n0"].handle(event, hive.clock())
