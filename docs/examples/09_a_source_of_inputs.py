"""An agent for a stream of inputs: it learns statements and answers questions."""

import asyncio
import tempfile
from pathlib import Path

from hive_mind import Answer, Settings, listed, open_goal_seeking

SAID = ["The ferry leaves at nine.", "When does the ferry leave?", "Who painted the ceiling?"]


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with open_goal_seeking(Settings(home=Path(home), embed="none"), "ben") as agent:
            async for said, done in agent.serve(listed(SAID)):
                print(said, "→", done.text.splitlines()[-1] if isinstance(done, Answer) else f"{done.added} fact learned")


asyncio.run(main())
