"""Your own `Reader`: what has `extract`, `summarise` and `synthesise` can read for an agent. This one reads key=value lines."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hive_mind import Answer, Candidate, Content, Extraction, Hit, LearningAgent, Question, Settings, open_memory


class KeyValueReader:
    """Each line "key = value" is a fact; an answer is the first value found."""

    async def extract(self, content: Content) -> Extraction:
        pairs = [line.split("=", 1) for line in content.text.splitlines() if "=" in line]
        return Extraction(tuple(Candidate(f"{key.strip()} is {value.strip()}", key.strip(), 1.0) for key, value in pairs))

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        return f"{content.source}: " + ", ".join(candidate.concept for candidate in candidates)

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        del question
        if not hits:
            return Answer("not known", (), "unknown", 0.0)
        return Answer(hits[0].fact.content, (hits[0],), "quoted", hits[0].fact.confidence)


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        memory = await open_memory(Settings(home=Path(home), embed="none"), "example")
        async with LearningAgent("example", memory, KeyValueReader()) as agent:
            await agent.learn_from_content(Content("retries = 5\ntimeout = 30 s", source="service.conf"))
            print((await agent.answer_question("What is the timeout?")).text)


asyncio.run(main())
