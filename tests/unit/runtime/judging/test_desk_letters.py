"""Letters between an agent and its desk that nobody may write, or nobody can read."""

import logging

import pytest

from hive_mind.errors import BackendUnavailable
from hive_mind.hive.replication.reliable_channels import IncomingMessage
from hive_mind.judge.items import DECIDED, OPENED, Decision, Item
from hive_mind.runtime.judging.post import KIND, DeskLetter, Post, packed
from tests.unit.runtime.judging.desk_town import ACCEPT, Town, is_open, letter, there
from tests.waiting import until


async def test_what_others_may_not_say_changes_nothing(caplog: pytest.LogCaptureFixture, town: Town) -> None:
    ann, ben = await town.agent("ann"), await town.agent("ben")
    ann.start()
    ben.start()
    asked, own = await ben.ask("ferry"), await ann.ask("tram")
    await until(lambda: there(ann, asked))
    yes = Decision(item=asked, action=ACCEPT, by="mallory")
    hostile = [
        # Only the desk decides what an agent asked, and only an agent's node what it asked.
        ("node-ben", letter("ben", asked, DECIDED, yes)),
        ("node-ann", letter("ann", asked, DECIDED, yes)),
        ("node-ann", letter("ann", own, DECIDED, Decision(item=own, action=ACCEPT, by="mallory"))),
        (
            "node-ben",
            letter("ben", "f00d", OPENED, Item(id="f00d", kind="fact", agent="ben", subject="", title="", opened_ms=1)),
        ),
        (
            "node-ann",
            letter("ann", "f00d", OPENED, Item(id="f00d", kind="fact", agent="ann", subject="", title="", opened_ms=1)),
        ),
    ]
    with caplog.at_level(logging.WARNING):
        for node, one in hostile:
            town.bring(node, IncomingMessage("m", "node-mallory", KIND, packed(one)))
        await until(lambda: caplog.text.count("may not say anything") == len(hostile))

    for agent, id in ((ann, asked), (ben, asked), (ann, own)):
        assert await is_open(agent, id)
    assert not await there(ann, "f00d")
    assert not await there(ben, "f00d")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1" * 100,
        packed(DeskLetter("ann", "f00d", "opened", b"{}", 1)),
        packed(DeskLetter("ann", "f00d", "burnt", b"{}", 1)),
        packed(DeskLetter("ann", "f00d", "decided", b'{"item": "other", "action": "accept", "by": "mallory"}', 1)),
    ],
)
def test_what_is_no_letter_is_refused_before_it_is_kept(data: bytes) -> None:
    post = Post("node-ann", lambda _: [])
    with pytest.raises(Exception, match="letter that can't be read"):
        post.write(IncomingMessage("m", "node-mallory", KIND, data))


def test_what_is_told_otherwise_goes_where_it_went() -> None:
    heard: list[IncomingMessage] = []
    told = IncomingMessage("1", "ann", "greeting", b"hello")
    assert Post("ben", lambda one: heard.append(one) or []).write(told) == []
    assert heard == [told]


async def test_on_one_node_a_desk_that_is_not_there_takes_nothing() -> None:
    with pytest.raises(BackendUnavailable, match="the desk of ann: it takes nothing now"):
        await Post("node", lambda _: []).hand_over(DeskLetter("ann", "f00d", OPENED, b"", 1))
