"""A process that learns one edition of a file, and may be killed while it does.

`python -m tests.crash.edit_writer HOME EDITION`; each line it prints is a batch that is kept, the last one says "learned".
"""

import asyncio
import sys
from pathlib import Path

from hive_mind import CognitiveMemory, Content, Settings, open_memory
from hive_mind.agents.agent import LearningAgent, LearningSettings
from hive_mind.cognition.extractive import ExtractiveReader

AGENT, FILE, PARTS = "ada", "/srv/pumps.md", 40


def lines_of(edition: int) -> list[str]:
    """Every third statement is another one in each edition, some are there in some only, and the chapters change places."""
    chapters = [
        [
            f"Pump {part} ran {100 * part + edition} hours until spring.",
            f"The seal of pump {part} is of type {part % 7} rubber.",
            *([f"A spare pump {part} stands in hall {edition % 3 + 1}."] if (part + edition) % 4 == 0 else []),
        ]
        for part in range(PARTS)
    ]
    turn = 7 * edition % PARTS
    return [line for chapter in chapters[turn:] + chapters[:turn] for line in chapter]


async def learn(memory: CognitiveMemory, edition: int) -> None:
    agent = LearningAgent(AGENT, memory, ExtractiveReader(), LearningSettings(batch_facts=8))
    content = Content("\n\n".join(lines_of(edition)), FILE, is_whole=True)
    await agent.learn_from_content(content, lambda kept, total: print(kept, total, flush=True))


async def main(home: Path, edition: int) -> None:
    async with await open_memory(Settings(home=home, embed="none"), AGENT) as memory:
        await learn(memory, edition)
        print("learned", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
