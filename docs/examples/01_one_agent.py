"""One agent learns two notes, answers a question with its sources, and admits what it does not know."""

import asyncio
import tempfile
from pathlib import Path

from hive_mind import Content, Settings, open_agent

NOTES = [
    Content("The gateway listens on port 8443. Ines replaced its certificate on 3 March 2025.", source="runbook.md"),
    Content("[2025-04-02 09:10] Marek: The gateway certificate expires next March, says Ines.", source="chat.txt"),
]


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with open_agent(Settings(home=Path(home), embed="none"), "example") as agent:
            for note in NOTES:
                learned = await agent.learn_from_content(note)
                print(f"{note.source}: {learned.added} facts")
            for question in ("Which port does the gateway listen on?", "Who painted the ceiling?"):
                answer = await agent.answer_question(question)
                print(f"\n{question}\n{answer.text}")
                for hit in answer.sources:
                    print(f"  {hit.score:.2f}  {', '.join(hit.fact.sources)}")


asyncio.run(main())
