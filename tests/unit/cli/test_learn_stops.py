"""Ctrl-C while files are being learned."""

import asyncio

import pytest

from hive_mind.agents.learning import Learned
from hive_mind.cli.learn import Piece, Tally, learn_all
from hive_mind.cli.running import Stopped
from hive_mind.model.content import Content, Episode


class _Interrupted:
    """Learns one piece, then is stopped as an event loop stops its main task at Ctrl-C."""

    def __init__(self) -> None:
        self._learned = 0

    async def learn_from_content(self, content: Content) -> Learned:
        if self._learned:
            raise asyncio.CancelledError
        self._learned += 1
        return Learned(Episode("e", content.text, content.source, "", 0), (), 2, 0, 0)


def test_a_stop_between_files_tells_how_many_are_kept():
    pieces = [Piece(name, name, "", lambda: "The ferry leaves at nine.") for name in ("a.txt", "b.txt", "c.txt")]
    tally = Tally()

    with pytest.raises(Stopped, match=r"stopped; 1 of 3 files learned, nothing lost"):
        asyncio.run(learn_all(_Interrupted(), pieces, tally, lambda *_: None))

    assert [file["file"] for file in tally.learned] == ["a.txt"]
