"""A person at a desk, as a process that can be killed: `python -m tests.chaos.gate_person HOME AGENT` decides until then.

What was invented, and that quays are of cheese, is rejected, everything else is approved, each after a moment. Now and then one
thinks again, and says the same.
"""

import asyncio
import random
import sys
from pathlib import Path

from hive_mind.agents.desk import LedgerDesk
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_ledger

_THINKS_S = 0.05
_THINKS_AGAIN = 0.2


async def decide(home: Path, agent: str) -> None:
    """For ever."""
    ledger = await open_ledger(Settings(home=home), agent, is_shared=True)
    desk = LedgerDesk(ledger)
    while True:
        await asyncio.sleep(_THINKS_S)
        for view in (await desk.open())[:5]:
            is_wrong = any(word in view.item.title for word in ("invented", "cheese"))
            action = JudgmentAction.ESCALATE if is_wrong else JudgmentAction.ACCEPT
            decision = Decision(item=view.item.id, action=action, by="olga")
            await desk.decide(decision)
            if random.random() < _THINKS_AGAIN and await desk.reopen(view.item.id, "olga"):
                await desk.decide(decision)


if __name__ == "__main__":
    asyncio.run(decide(Path(sys.argv[1]), sys.argv[2]))
