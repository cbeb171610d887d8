"""Learning by an agent that runs elsewhere.

Ctrl-C while files are being learned.
What learning did, as people read it.
"""

import asyncio
from typing import Any

import pytest

from hive_mind.api.request import Progress
from hive_mind.cli.learning import pieces, show_learned
from hive_mind.cli.learning.pieces import Learner, Piece, Tally, learn_all, parts_of
from hive_mind.cli.running import Stopped
from hive_mind.errors import BackendTimeout, InvalidInput
from hive_mind.model.content import Content, KnownSource
from hive_mind.runtime.texts import Document


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


def test_a_long_text_goes_over_a_wire_in_parts_and_is_counted_as_one(monkeypatch):
    monkeypatch.setattr(pieces, "PART_CHARACTERS", 10)
    agent, told = Agent(), []
    text = Content("one\ntwo\nthree\nfour\n", "notes")

    learned = asyncio.run(Learner(agent).learn(text, lambda *far: told.append(far)))

    assert [fields["text"] for _, fields in agent.calls] == ["one\ntwo\n", "three\n", "four\n"]
    assert (len(learned["facts"]), learned["added"], learned["skipped"]) == (4, 4, 3)
    assert (learned["missing"], learned["left_out"]) == ("no concept map", {"a question": 3})
    assert told == [(2, 6), (2, 3), (3, 3)]
    # As one where there is no wire.
    agent.fleet = ""
    asyncio.run(Learner(agent).learn(text, untold))
    assert agent.calls[-1][1]["text"] == text.text


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
            return {"sources": {"sources": [known]}, "withdraw": {"former": 2}}[what]

    agent = Told()
    learner = Learner(agent)

    assert asyncio.run(learner.sources("/")) == [KnownSource("/a", True, 2, 1, 5)]
    assert asyncio.run(learner.withdraw("/a")) == 2
    assert agent.calls == [
        ("sources", {"query": "/"}),
        ("withdraw", {"source": "/a"}),
    ]


def test_a_process_of_an_earlier_version_embeds_each_when_its_turn_comes():
    class Earlier(Agent):
        async def call(self, what, *_, **__):
            raise InvalidInput(f"there is no {what!r}; known: ask, learn")

    assert not asyncio.run(Learner(Earlier()).embed_ahead([], untold))


class _Interrupted:
    """Learns one piece, then is stopped as an event loop stops its main task at Ctrl-C, before or within the second."""

    name, fleet = "ada", ""

    def __init__(self, facts_before: int = 0) -> None:
        self._is_second, self._facts_before = False, facts_before

    async def call(self, request: str, progress: Progress | None = None, /, **fields: object) -> Any:
        del fields
        if request == "learn" and progress is not None:
            if self._is_second:
                progress(self._facts_before, 12_000)
                raise asyncio.CancelledError
            progress(100, 100)
            self._is_second = True
        learned = {"facts": [], "added": 2, "confirmed": 0, "skipped": 0, "missing": "", "left_out": {}, "former": 0}
        return {"learn": learned, "embed_ahead": {"embeds": False}, "note": {}}[request]


PIECES = [Piece(name, name, "", lambda _: Document("The ferry leaves at nine.")) for name in ("a.txt", "b.txt", "c.txt")]


@pytest.mark.parametrize(
    ("facts_before", "told"),
    [
        (0, r"stopped; 1 of 3 files learned, nothing lost"),
        (5_120, r"stopped; 1 of 3 files and 42 % of b\.txt learned, nothing lost"),
    ],
)
def test_a_stop_between_files_or_within_one_tells_how_far_it_came(facts_before: int, told: str):
    tally = Tally()
    with pytest.raises(Stopped, match=told):
        asyncio.run(learn_all(Learner(_Interrupted(facts_before)), PIECES, tally, lambda *_: None))
    assert [file["file"] for file in tally.learned] == ["a.txt"]


def test_one_that_answers_nothing_before_the_first_file_is_named_with_it(capsys: pytest.CaptureFixture[str]):
    class Silent(_Interrupted):
        async def call(self, request: str, *_: object, **__: object) -> Any:
            raise BackendTimeout("ada", f"no answer to {request}")

    with pytest.raises(BackendTimeout, match="no answer to embed_ahead"):
        asyncio.run(learn_all(Learner(Silent()), PIECES, Tally(), lambda *_: None))
    assert "failed at a.txt; 0 of 3 files learned before it are kept" in capsys.readouterr().err


TOLD = {"file": "a.txt", "facts": 2, "added": 2, "confirmed": 0, "former": 0, "unsure": 0, "left_out": {"a question": 1}}


def test_of_many_lines_that_are_asked_for_the_first_are_shown_and_how_to_get_all_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = [{"what": "kept", "text": f"fact {number}"} for number in range(300_000)]
    left = [{"what": "left out (a question)", "text": f"why {number}?"} for number in range(101)]

    show_learned([TOLD])
    assert capsys.readouterr().out == "a.txt: 2 facts, 2 of them new; left out: 1 question\n"
    show_learned([{**TOLD, "lines": [*kept, *left]}])

    shown = capsys.readouterr().out
    assert len(shown.splitlines()) < 250
    assert "fact 99\n" in shown
    assert "… and 299,900 more kept: all of them with --output json" in shown
    assert "… and 1 more left out" in shown
