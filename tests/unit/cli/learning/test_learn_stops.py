"""Ctrl-C while files are being learned."""

import asyncio
from collections.abc import Sequence

import pytest

from hive_mind.agents.learning import Learned, Progress
from hive_mind.cli.learning.pieces import Piece, Tally, learn_all
from hive_mind.cli.running import Stopped
from hive_mind.model.content import Content, Episode, SourceNote
from hive_mind.runtime.texts.document import Document


class _Interrupted:
    """Learns one piece, then is stopped as an event loop stops its main task at Ctrl-C, before or within the second."""

    def __init__(self, facts_before: int = 0) -> None:
        self._learned, self._facts_before = 0, facts_before

    async def learn_from_content(self, content: Content, progress: Progress) -> Learned:
        if self._learned:
            progress(self._facts_before, 12_000)
            raise asyncio.CancelledError
        progress(100, 100)
        self._learned += 1
        return Learned(Episode("e", content.text, content.source, "", 0), (), 2, 0, 0)

    async def embed_ahead(self, contents: Sequence[Content], progress: Progress) -> bool:
        del contents, progress
        return False

    async def note(self, source: str, note: SourceNote) -> None:
        pass


PIECES = [Piece(name, name, "", lambda _: Document("The ferry leaves at nine.")) for name in ("a.txt", "b.txt", "c.txt")]


def test_a_stop_between_files_tells_how_many_are_kept():
    tally = Tally()
    with pytest.raises(Stopped, match=r"stopped; 1 of 3 files learned, nothing lost"):
        asyncio.run(learn_all(_Interrupted(), PIECES, tally, lambda *_: None))
    assert [file["file"] for file in tally.learned] == ["a.txt"]


def test_a_stop_within_a_file_tells_how_far_it_came():
    with pytest.raises(Stopped, match=r"stopped; 1 of 3 files and 42 % of b\.txt learned, nothing lost"):
        asyncio.run(learn_all(_Interrupted(5_120), PIECES, Tally(), lambda *_: None))
