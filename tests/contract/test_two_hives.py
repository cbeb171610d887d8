"""Two hives on one broker whose members have the same names: neither hears, finds or disturbs anything of the other."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.membership import MembershipSettings
from hive_mind.memory.gate import PromotionSettings
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.settings import Settings
from tests.contract.wires import WIRES, Wire, secrets_of, wire
from tests.waiting import until

NAMES = ("ada", "ben")
_PATIENCE_S = 120
OVER = ["redis", *(pytest.param(name, marks=pytest.mark.slow) for name in WIRES if name != "redis")]


@asynccontextmanager
async def hive(over: Wire, name: str, folder: Path) -> AsyncIterator[dict[str, RunningMember]]:
    """Two members of a flat hive, in this process."""
    over.provide(name, *NAMES)
    async with AsyncExitStack() as stack:
        members = {}
        for one in NAMES:
            plan = MemberPlan(
                one,
                over.bus,
                hive=name,
                members=NAMES,
                searches=over.searches,
                gate=PromotionSettings(is_open=True),
                membership=MembershipSettings(beat_ms=100),
            )
            members[one] = await open_member(Settings(home=folder / one, store="memory", ann="exact"), plan, NoEmbedder())
            stack.push_async_callback(members[one].close)
        for member in members.values():
            assert await member.until_ready(_PATIENCE_S, lambda _: None) == ()
        yield members


async def contents(member: RunningMember) -> set[str]:
    return {fact.content for fact in await member.memory.get_all_facts()}


@pytest.mark.parametrize("over", OVER)
def test_two_hives_of_the_same_names_on_one_broker_have_nothing_to_do_with_each_other(over: str, tmp_path: Path) -> None:
    red, blue = (f"t{secrets.token_hex(4)}" for _ in range(2))

    async def scenario() -> None:
        async with hive(wire(over), red, tmp_path / "red") as reds, hive(wire(over), blue, tmp_path / "blue") as blues:
            kept = await reds["ada"].memory.store_fact("", "The ferry of the reds is green.")
            await blues["ben"].memory.store_fact("", "The ferry of the blues is white.")
            await reds["ada"].runner.tell(("*",), "greeting", b"hello reds")
            everybody = [*reds.values(), *blues.values()]
            await until(lambda: not any(member.is_busy for member in everybody))

            for members, said in ((reds, "The ferry of the reds is green."), (blues, "The ferry of the blues is white.")):
                for member in members.values():
                    assert await contents(member) == {said}
                    assert [hit.fact.content for hit in await member.memory.search_facts("what colour has the ferry?")] == [said]
                    assert member.memory.completeness == 1.0
            assert [entry.text for entry in reds["ben"].message_log.entries()] == ["hello reds"]
            assert not any(member.message_log.entries() for member in (reds["ada"], *blues.values()))

            # Nor does one of them taking something back, or going away, change anything for the other.
            await reds["ada"].memory.retract_fact(kept.id)
            await until(lambda: not reds["ada"].is_busy)
            await reds["ben"].close()
            assert [await contents(member) for member in (reds["ada"], *blues.values())] == [
                set(),
                *[{"The ferry of the blues is white."}] * 2,
            ]
            for member in (reds["ada"], *blues.values()):
                figures = member.runner.figures
                assert (figures.foreign, figures.strangers, dict(figures.refused)) == (0, 0, {})
                assert member.runner.health.dead_letters == 0
                assert not member.member.membership.findings()
                assert member.runner.failure is None

    with secrets_of(wire(over)):
        asyncio.run(asyncio.wait_for(scenario(), _PATIENCE_S))
