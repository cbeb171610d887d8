"""Learning by the agent that a command means, by the requests of `api.requests`: whichever process has its memory open."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hive_mind.cli.asking.asked import AnsweringAgent
from hive_mind.errors import InvalidInput
from hive_mind.model.content import Content, KnownSource
from hive_mind.model.decoding import converted

if TYPE_CHECKING:
    from hive_mind.api.replies import LearnedJson
    from hive_mind.api.request import Progress

# At four bytes each they fit a request of one megabyte, with room for what is written in two bytes instead of one.
PART_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class Learner:
    """Puts content to an agent. One in another process gets a long text in parts that fit a request."""

    agent: AnsweringAgent

    async def embed_ahead(self, contents: Sequence[Content], progress: "Progress") -> bool:
        """Embed together what is learned next: `PART_CHARACTERS` at most. False where each is embedded when its turn comes."""
        try:
            return bool((await self.agent.call("embed_ahead", progress, contents=contents))["embeds"])
        except InvalidInput:
            # A process of an earlier version has no such request.
            return False

    async def learn(self, content: Content, progress: "Progress", *, with_lines: bool = False) -> "LearnedJson":
        """Durable when this returns; what is worth sharing is with the hive soon. `progress` gets (kept, to keep)."""
        parts = parts_of(content.text) if self.agent.fleet else [content.text]
        fields: dict[str, object] = {"source": content.source, "said_at": content.said_at, "title": content.title}
        fields |= {"with_lines": True} if with_lines else {}
        replies: list[LearnedJson] = []
        for number, text in enumerate(parts):
            report = partial(_report_part, progress, number, len(parts))
            replies.append(
                await self.agent.call("learn", report, text=text, whole=content.is_whole and len(parts) == 1, **fields)
            )
        together = _added_up(replies)
        if content.is_whole and len(parts) > 1:
            # All parts together are the whole: none of them takes the place of another.
            episodes = [reply["episode"] for reply in replies]
            former = await self.agent.call("replace", source=content.source, episodes=episodes)
            together["former"] = former["former"]
        return together

    async def sources(self, below: str) -> Sequence[KnownSource]:
        """The sources that it learned from, of those whose name begins like this."""
        return converted((await self.agent.call("sources", query=below))["sources"], list[KnownSource])

    async def withdraw(self, source: str) -> int:
        """A source says nothing any more. How many facts it said before and says no longer."""
        return int((await self.agent.call("withdraw", source=source))["former"])

    async def note(self, source: str, digest: str, left_out: Mapping[str, int]) -> None:
        """Keep what was read of a source; the agent notes when."""
        await self.agent.call("note", source=source, digest=digest, left_out=left_out)


def _report_part(progress: "Progress", number: int, parts: int, done: int, total: int) -> None:
    progress(number * total + done, parts * total)


def _added_up(replies: "Sequence[LearnedJson]") -> "LearnedJson":
    """The figures of all parts of a text; `episode` and `former` are those of the first."""
    together, *rest = replies
    for reply in rest:
        together["facts"] += reply["facts"]
        together["added"] += reply["added"]
        together["confirmed"] += reply["confirmed"]
        together["skipped"] += reply["skipped"]
        together["left_out"] = dict(Counter(together["left_out"]) + Counter(reply["left_out"]))
        together["lines"] = [*together.get("lines", ()), *reply.get("lines", ())]
        together["missing"] = "; ".join(dict.fromkeys(filter(None, (together["missing"], reply["missing"]))))
    return together


def parts_of(text: str) -> list[str]:
    """A text in parts that fit a request, each of whole lines where a line is not longer than a part."""
    parts, start = list[str](), 0
    while len(text) - start > PART_CHARACTERS:
        end = text.rfind("\n", start, start + PART_CHARACTERS) + 1 or start + PART_CHARACTERS
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]
