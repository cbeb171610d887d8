"""Learning by an agent that runs elsewhere."""

import asyncio

from hive_mind.cli.learning import pieces
from hive_mind.cli.learning.pieces import Learner, parts_of
from hive_mind.errors import InvalidInput
from hive_mind.model.content import Content, KnownSource


class Agent:
    """Learns a fact a line."""

    name, fleet = "ada", "f"

    def __init__(self):
        self.calls = []

    async def call(self, what, progress=None, /, **fields):
        self.calls.append((what, fields))
        if what == "replace":
            return {"former": 7}
        count = fields["text"].count("\n")
        progress(count, count)
        return {
            "facts": ["f"] * count,
            "added": count,
            "confirmed": 0,
            "skipped": 1,
            "left_out": {"a question": 1},
            "missing": "no concept map",
            "episode": f"e{len(self.calls)}",
            "former": 5,
        }


def untold(done, total):
    del done, total


def test_a_text_that_fits_is_one_request_with_all_that_is_known_of_it():
    agent = Agent()
    learned = asyncio.run(Learner(agent).learn(Content("a\nb\n", "notes", "2025-03", title="Notes"), untold))
    assert (len(learned["facts"]), learned["added"], learned["confirmed"], learned["skipped"]) == (2, 2, 0, 1)
    fields = {"text": "a\nb\n", "source": "notes", "said_at": "2025-03", "title": "Notes"}
    assert agent.calls == [("learn", {**fields, "whole": False})]


def test_a_long_text_goes_in_parts_and_is_counted_as_one(monkeypatch):
    monkeypatch.setattr(pieces, "PART_CHARACTERS", 10)
    agent, told = Agent(), []
    text = Content("one\ntwo\nthree\nfour\n", "notes")

    learned = asyncio.run(Learner(agent).learn(text, lambda *far: told.append(far)))

    assert [fields["text"] for _, fields in agent.calls] == ["one\ntwo\n", "three\n", "four\n"]
    assert (len(learned["facts"]), learned["added"], learned["skipped"]) == (4, 4, 3)
    assert (learned["missing"], learned["left_out"]) == ("no concept map", {"a question": 3})
    assert told == [(2, 6), (2, 3), (3, 3)]


def test_a_long_text_goes_as_one_where_there_is_no_wire(monkeypatch):
    monkeypatch.setattr(pieces, "PART_CHARACTERS", 10)
    agent = Agent()
    agent.fleet = ""

    asyncio.run(Learner(agent).learn(Content("one\ntwo\nthree\nfour\n", "notes"), untold))

    assert [fields["text"] for _, fields in agent.calls] == ["one\ntwo\nthree\nfour\n"]


def test_a_whole_that_goes_in_parts_is_said_to_be_the_whole_when_all_of_it_is_kept(monkeypatch):
    monkeypatch.setattr(pieces, "PART_CHARACTERS", 10)
    agent = Agent()
    long, short = (Content(text, "notes", is_whole=True) for text in ("one\ntwo\nthree\n", "one\n"))

    learned = asyncio.run(Learner(agent).learn(long, untold))

    assert [fields.get("whole", False) for what, fields in agent.calls if what == "learn"] == [False, False]
    assert agent.calls[-1] == ("replace", {"source": "notes", "episodes": ["e1", "e2"]})
    assert learned["former"] == 7
    assert asyncio.run(Learner(agent).learn(short, untold))["former"] == 5
    assert agent.calls[-1][1]["whole"] is True


def test_parts_are_the_text_also_where_a_line_is_longer_than_a_part(monkeypatch):
    monkeypatch.setattr(pieces, "PART_CHARACTERS", 4)
    assert parts_of("abcdefghij\nk\nl") == ["abcd", "efgh", "ij\n", "k\nl"]
    assert parts_of("") == [""]


def test_sources_are_listed_noted_and_withdrawn_where_the_agent_runs():
    class Told:
        def __init__(self):
            self.calls = []

        async def call(self, what, progress=None, /, **fields):
            assert progress is None
            self.calls.append((what, fields))
            known = {"source": "/a", "vouches": True, "facts": 2, "former": 1, "learned_at_us": 5}
            return {"sources": {"sources": [known]}, "note": {}, "withdraw": {"former": 2}}[what]

    agent = Told()
    learner = Learner(agent)

    assert asyncio.run(learner.sources("/")) == [KnownSource("/a", True, 2, 1, 5)]
    asyncio.run(learner.note("/a", "d", {"picture": 1}))
    assert asyncio.run(learner.withdraw("/a")) == 2
    assert agent.calls == [
        ("sources", {"query": "/"}),
        ("note", {"source": "/a", "digest": "d", "left_out": {"picture": 1}}),
        ("withdraw", {"source": "/a"}),
    ]


def test_a_process_of_an_earlier_version_embeds_each_when_its_turn_comes():
    class Earlier(Agent):
        async def call(self, what, *_, **__):
            raise InvalidInput(f"there is no {what!r}; known: ask, learn")

    assert not asyncio.run(Learner(Earlier()).embed_ahead([], untold))
