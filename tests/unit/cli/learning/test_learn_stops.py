"""Ctrl-C while files are being learned."""

import asyncio
from typing import Any

import pytest

from hive_mind.api.request import Progress
from hive_mind.cli.learning.pieces import Learner, Piece, Tally, learn_all
from hive_mind.cli.running import Stopped
from hive_mind.errors import BackendTimeout
from hive_mind.runtime.texts import Document


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


def test_a_stop_between_files_tells_how_many_are_kept():
    tally = Tally()
    with pytest.raises(Stopped, match=r"stopped; 1 of 3 files learned, nothing lost"):
        asyncio.run(learn_all(Learner(_Interrupted()), PIECES, tally, lambda *_: None))
    assert [file["file"] for file in tally.learned] == ["a.txt"]


def test_a_stop_within_a_file_tells_how_far_it_came():
    with pytest.raises(Stopped, match=r"stopped; 1 of 3 files and 42 % of b\.txt learned, nothing lost"):
        asyncio.run(learn_all(Learner(_Interrupted(5_120)), PIECES, Tally(), lambda *_: None))


def test_one_that_answers_nothing_before_the_first_file_is_named_with_it(capsys: pytest.CaptureFixture[str]):
    class Silent(_Interrupted):
        async def call(self, request: str, *_: object, **__: object) -> Any:
            raise BackendTimeout("ada", f"no answer to {request}")

    with pytest.raises(BackendTimeout, match="no answer to embed_ahead"):
        asyncio.run(learn_all(Learner(Silent()), PIECES, Tally(), lambda *_: None))
    assert "failed at a.txt; 0 of 3 files learned before it are kept" in capsys.readouterr().err
