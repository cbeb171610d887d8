"""A message that ends every process that takes it is put aside after five of them, and the next one lives."""

import asyncio
import secrets
from pathlib import Path

import pytest

from hive_mind.bus.base import Envelope
from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import BackendError
from hive_mind.hive.effects import Effect, Event, Now, Received
from hive_mind.hive.replication.app_messages import AppMessages
from hive_mind.model.messages import Receipt, Replicate
from hive_mind.runtime.members.member import MemberPlan, open_bus, open_member
from hive_mind.runtime.settings import Settings
from tests.contract.wires import wire


def test_a_message_that_ends_every_process_is_put_aside_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    handle = AppMessages.handle

    def breaking(self: AppMessages, event: Event, now: Now) -> list[Effect]:
        if isinstance(event, Received) and isinstance(event.message, Replicate):
            raise ZeroDivisionError("a defect")
        return handle(self, event, now)

    hive = f"t{secrets.token_hex(4)}"
    plan = MemberPlan("ada", wire("redis").bus, hive, members=("ada", "ben"))

    async def boot() -> bool:
        """Whether a process survived what lay there for it."""
        try:
            member = await open_member(Settings(home=tmp_path, store="memory", ann="exact"), plan, NoEmbedder())
        except BackendError:
            return False
        try:
            await member.runner.ping(Receipt(""), timeout_s=60)
        except BackendError:
            return False
        finally:
            await member.close()
        return True

    async def whole() -> None:
        assert await boot()
        monkeypatch.setattr(AppMessages, "handle", breaking)
        bus = await open_bus(plan.bus)
        await bus.publish([Envelope("poison", hive, "ben", ("ada",), "replicate", Replicate("parcel", ()))])

        assert [await boot() for _ in range(7)] == [False] * 5 + [True] * 2
        (letter,) = await bus.dead_letters(hive)
        assert letter.envelope is not None
        assert (letter.envelope.id, letter.reason) == ("poison", "delivered 5 times and never acknowledged")
        await bus.close()

    asyncio.run(asyncio.wait_for(whole(), 300))
