"""Files an agent learns, and which of them it has learned already: the digest of each, in a file beside its database.

A file is learned again when its digest is another one; what it says no longer is then former. Learning the same text again adds
nothing, so a list that is lost costs time and nothing else.
"""

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.agents.agent import Learned, LearningAgent
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.model.content import Content, SourceNote
from hive_mind.model.decoding import json_decoder
from hive_mind.safe_files import write_whole

_log = logging.getLogger(__name__)


class LearnedSources:
    """Digests by path. `path`: where they are kept; None: nowhere, for an agent that keeps nothing either.

    `roots`: where files have to be to be learned; None for anywhere.
    """

    def __init__(self, path: Path | None = None, roots: Sequence[str] | None = None) -> None:
        self._path, self._roots = path, roots
        self.digests: dict[str, str] = _read(path) if path else {}

    def refuse_foreign(self, source: str) -> None:
        """Raises `InvalidInput` for a file outside, also by a link: a client of an agent may not read this machine."""
        if self._roots is None:
            return
        real = Path(source).resolve()
        if not any(real.is_relative_to(Path(root).resolve()) for root in self._roots):
            among = ", ".join(self._roots) or "no folder"
            raise InvalidInput(f"{source} is not in {among}, where its sources are; name it by its whole path in `sources`")

    def note(self, source: str, digest: str) -> None:
        """It has been learned in this form. Durable when this returns."""
        self.digests[source] = digest
        if self._path:
            write_whole(self._path, msgspec.json.encode(self.digests))


async def learn_file(agent: LearningAgent, path: str, sources: LearnedSources) -> Learned | None:
    """Learn a file; None for one that says nothing. Raises `InvalidInput` for what can't be learned, else as learning does."""
    # Here, because it brings what reads files of all kinds, and an idle worker reads none.
    from hive_mind.runtime.texts import EMPTY, Document, Unreadable
    from hive_mind.runtime.texts.text_files import document_in, read_bytes

    await asyncio.to_thread(sources.refuse_foreign, path)
    body = await asyncio.to_thread(read_bytes, Path(path))
    document = body if isinstance(body, Unreadable) else await asyncio.to_thread(document_in, Path(path), body)
    if isinstance(document, Unreadable) and document is not EMPTY:
        raise InvalidInput(f"{path} {document.reason}")
    assert isinstance(body, bytes)  # noqa: S101 - anything else was reported above
    outcome = None
    if isinstance(document, Document):
        outcome = await agent.learn_from_content(Content(document.text, _source_of(path), title=Path(path).stem, is_whole=True))
        left_out = dict(Counter(outcome.reasons) + Counter(document.left_out))
        note = SourceNote(time.time_ns() // 1000, sha256(body).hexdigest(), left_out)
        await agent.memory.note(_source_of(path), note)
    sources.note(path, sha256(body).hexdigest())
    return outcome


async def learn_files(agent: LearningAgent, paths: Sequence[str], sources: LearnedSources) -> dict[str, Any]:
    """Learn files, one after the other; one that can't be learned is named and stops no other."""
    outcomes: list[dict[str, object]] = []
    skipped: list[dict[str, str]] = []
    for path in paths:
        try:
            outcome = await learn_file(agent, path, sources)
        except InvalidInput as error:
            skipped.append({"file": path, "reason": str(error)})
        else:
            outcomes.append({"file": path, **_figures(outcome)})
    return {"learned": outcomes, "skipped": skipped, "added": sum(int(str(outcome_reply["added"])) for outcome_reply in outcomes)}


def _figures(outcome: Learned | None) -> dict[str, int]:
    if outcome is None:
        return {"facts": 0, "added": 0, "confirmed": 0, "former": 0}
    return {"facts": len(outcome.facts), "added": outcome.added, "confirmed": outcome.confirmed, "former": outcome.former}


def _source_of(path: str) -> str:
    """The whole path: the same file must be the same source from wherever it is learned, or it would confirm itself."""
    # A file's name may hold bytes that are no text.
    return os.path.realpath(path).encode("utf-8", "replace").decode()


def _read(path: Path) -> dict[str, str]:
    try:
        return json_decoder(dict[str, str])(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        _log.warning("%s can't be read (%s): all sources are learned again", path, reason_of(error))
        return {}
