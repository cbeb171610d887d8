"""Two people decide the same questions at the same time, in processes of their own: each question has one decision."""

import asyncio
import json
import subprocess

from hive_mind.agents.desk import LedgerDesk
from hive_mind.judge.items import Item
from hive_mind.model.ids import item_id
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_ledger
from tests.acceptance.hive_mind_command import HiveMind

ITEMS = [
    Item(id=item_id("fact", str(n), ""), kind="fact", agent="ines", subject=str(n), title=f"Is {n} so?", opened_ms=n, group="g")
    for n in range(1, 41)
]


async def ask(hive_mind: HiveMind) -> None:
    ledger = await open_ledger(Settings(home=hive_mind.home), "default")
    desk = LedgerDesk(ledger)
    assert [await desk.ask(item) for item in ITEMS] == [True] * len(ITEMS)
    await ledger.close()


async def decisions(hive_mind: HiveMind) -> dict[str, str]:
    """Who decided what, as somebody who waits for it is told."""
    ledger = await open_ledger(Settings(home=hive_mind.home), "default")
    found: dict[str, str] = {}
    async for decided in LedgerDesk(ledger).decisions():
        assert decided.decision.item not in found, "decided twice"
        found[decided.decision.item] = decided.decision.by
        if len(found) == len(ITEMS):
            break
    await ledger.close()
    return found


def test_of_two_processes_that_decide_everything_at_once_each_item_has_one_winner(hive_mind: HiveMind) -> None:
    asyncio.run(ask(hive_mind))

    people = {
        name: hive_mind.start(
            "inbox", what, ITEMS[0].id[:8], "--all", "--as", name, "-o", "json", stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for name, what in (("ines", "approve"), ("bo", "reject"))
    }
    ended = {name: (process.communicate(timeout=60), process.returncode) for name, process in people.items()}

    won = {view["item"]["id"]: name for name, ((out, _), _) in ended.items() for view in json.loads(out) if view["counts"]}
    assert won == asyncio.run(decisions(hive_mind))
    for name, ((out, err), code) in ended.items():
        lost = [view for view in json.loads(out) if not view["counts"]]
        assert code == (1 if lost else 0)
        assert (b"already" in err) == bool(lost), name
        assert all(name in [comment["by"] for comment in view["later"]] for view in lost), "what came second is kept"
    assert hive_mind("inbox", "list").out == "Nothing waits for you.\n"
