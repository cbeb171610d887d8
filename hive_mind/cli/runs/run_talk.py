"""A talk with a run: what its nodes say that face people, and what is answered, line by line."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import typer

from hive_mind.cli.fleet.agents import FleetAgent
from hive_mind.cli.output import printable, say, show_indented
from hive_mind.cli.running import FAILED
from hive_mind.cli.runs.run_shown import show_document

if TYPE_CHECKING:
    from hive_mind.agents.goal_seeking import GoalSeekingAgent

_LOOK_S = 0.2
Document = Mapping[str, Any]


class TalkingRun(Protocol):
    """A run, wherever it is driven."""

    @property
    def agent(self) -> str:
        """Its agent's name."""
        ...

    async def look(self) -> Document:
        """The run as it is once it waits for somebody, or has ended."""
        ...

    async def say(self, text: str) -> Document:
        """The same after this was said."""
        ...


@dataclass(frozen=True, slots=True)
class RunOfFleet:
    """It goes on in a process of its fleet."""

    running: FleetAgent
    run: str

    @property
    def agent(self) -> str:
        return self.running.name

    async def look(self, after: int = 0) -> Document:
        """`after`: once it has heard as many messages, if it waits for one."""
        while True:
            document: Document = await self.running.call("run_shown", run=self.run)
            is_behind = document["status"] == "parked" and document.get("listening") and document["heard"] < after
            if document["status"] != "unfinished" and not is_behind:
                return document
            await asyncio.sleep(_LOOK_S)

    async def say(self, text: str, key: str = "") -> Document:
        """`key`: of a text that may be said again."""
        told_reply = await self.running.call("run_told", run=self.run, text=text, key=key)
        return await self.look(told_reply["number"])


@dataclass(frozen=True, slots=True)
class RunHere:
    """This process drives it."""

    opened: "GoalSeekingAgent"
    run: str

    @property
    def agent(self) -> str:
        return self.opened.name

    async def look(self) -> Document:
        return await self._document(await self.opened.resume(self.run))

    async def say(self, text: str) -> Document:
        return await self._document(await self.opened.say(self.run, text))

    async def _document(self, state: Any) -> Document:
        from hive_mind.agents.runs.run_journal import document_of

        return await document_of(self.run, state, self.opened.desk)


async def talk(run: TalkingRun) -> None:
    """Until the run has ended or waits for a decision, or there is nothing more to say."""
    from hive_mind.agents.goal_seeking import lines_of

    lines = lines_of(sys.stdin)
    document = await run.look()
    while document.get("listening"):
        show_said(document)
        line = await anext(lines, None)
        if line is None:
            say(f"go on with: hive-mind chat {run.agent} --run {document['run']}", style="dim")
            return
        document = await run.say(line)
    show_document(document, run.agent)
    if document["status"] not in ("accepted", "parked", "paused"):
        raise typer.Exit(FAILED)


def show_said(document: Document) -> None:
    """The last words of the nodes that wait for an answer."""
    for node_listening in document["listening"]:
        show_indented(printable(node_listening["text"]), lead=f"{node_listening['node']}:")
