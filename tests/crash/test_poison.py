"""A message that ends every process that handles it is put aside before the third one does, and what came with it is handled."""

import asyncio
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind.bus import Envelope, type_of
from hive_mind.bus.dead_letters import DeadLetterFile, file_of
from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import BackendError
from hive_mind.hive.effects import Effect, Event, Now, Received
from hive_mind.hive.member import Member
from hive_mind.model.messages import FactsRequest, Message, Receipt, Replicate
from hive_mind.runtime.buses import open_bus
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.node.effect_executor import KILLED, InHand
from hive_mind.runtime.settings import Settings
from tests.contract.bus_builders import World, harness_of
from tests.contract.buses.base import BaseHarness
from tests.contract.wires import wire
from tests.crash.poisoned_member import POISON
from tests.sampled import thorough
from tests.servers.forked import Forked

# Twelve times what Service Bus locks a message for.
_PATIENCE_S = 60.0
# One that is replicated, and one that is asked.
FACTS, QUESTION = Replicate(POISON, ()), FactsRequest(POISON, (), 60_000)
BROKEN = [
    *(pytest.param(broker, FACTS, marks=pytest.mark.slow) for broker in ("redis", "servicebus")),
    pytest.param("eventhubs", QUESTION, marks=pytest.mark.slow),
    *(thorough(broker, QUESTION) for broker in ("redis", "servicebus")),
    thorough("eventhubs", FACTS),
]


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> Iterator[BaseHarness]:
    harness = harness_of(request.param)
    harness.start()
    yield harness
    harness.stop()


@pytest.mark.parametrize(("broker", "poison"), BROKEN, indirect=["broker"])
async def test_a_message_that_kills_its_process_is_put_aside_before_a_third_one_handles_it(
    tmp_path: Path, broker: BaseHarness, poison: Message
) -> None:
    hive = f"t{secrets.token_hex(4)}"
    broker.provide(hive, "ada")

    lives = [life(tmp_path, broker, hive)]
    world = World(broker)
    bus = await world.open()
    said = [Receipt("before"), poison, Receipt("behind")]
    await bus.publish([Envelope(f"{n}", hive, "ben", ("ada",), type_of(one), one) for n, one in enumerate(said)])
    await world.close()
    file = file_of(tmp_path / "hives" / hive, "ada")
    # Service Bus gives it to the next process when the lock of the last one has run out.
    until_s = time.monotonic() + _PATIENCE_S
    while not file.letters() and time.monotonic() < until_s:
        lives.append(life(tmp_path, broker, hive))
    lives += [life(tmp_path, broker, hive)]

    assert (lives.count("killed"), set(lives), lives[-2:]) == (2, {"alive", "killed"}, ["alive"] * 2)
    (letter,) = file.letters()
    assert letter.envelope is not None
    assert (letter.envelope.message, letter.reason, letter.count) == (poison, KILLED, 1)


def life(home: Path, broker: BaseHarness, hive: str) -> str:
    """How a process of the member ended."""
    address, settings = broker.address(), broker.settings()
    environment = os.environ | {"HIVE_MIND_BUS_CREDENTIAL": settings.credential}
    url = str(address) if not address.password else url_with_password(broker)
    command = [sys.executable, "-m", "tests.crash.poisoned_member", str(home), url, hive]
    with Forked(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        said, _ = child.communicate(timeout=110)
    return "killed" if child.returncode == -9 else said.strip()


def url_with_password(broker: BaseHarness) -> str:
    address = broker.address()
    return f"{address.backend}://{address.user}:{address.password}@{address.host}:{address.port}"


def test_a_message_that_ends_every_process_is_put_aside_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    handle = Member.handle

    def breaking(self: Member, event: Event, now: Now) -> list[Effect]:
        if isinstance(event, Received) and isinstance(event.message, Replicate):
            raise ZeroDivisionError("a defect")
        return handle(self, event, now)

    hive = f"t{secrets.token_hex(4)}"
    plan = MemberPlan("ada", wire("redis").bus, hive, members=("ada", "ben"))

    async def boot() -> bool:
        """Whether a process survived what lay there for it."""
        try:
            member = await open_member(Settings(home=tmp_path, ann="exact"), plan, NoEmbedder())
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
        monkeypatch.setattr(Member, "handle", breaking)
        bus = await open_bus(plan.bus)
        await bus.publish([Envelope("poison", hive, "ben", ("ada",), "replicate", Replicate("parcel", ()))])
        await bus.close()
        assert [await boot() for _ in range(4)] == [False] * 2 + [True] * 2
        (letter,) = file_of(tmp_path / "hives" / hive, "ada").letters()
        assert letter.envelope is not None
        assert (letter.envelope.id, letter.reason) == ("poison", KILLED)

    asyncio.run(asyncio.wait_for(whole(), 300))


def test_what_was_in_hand_once_is_handled_again_and_what_was_not_in_hand_is_nobodys_fault(tmp_path: Path) -> None:
    letters, hand = DeadLetterFile(tmp_path / "ada.dlq"), bytes(range(16))
    for expected in ([], [], [hand]):
        life = InHand(letters, tmp_path / "ada.hand")
        life.open()
        assert [some for some in (hand, bytes(16)) if life.has_killed(some)] == expected
        life.begin(hand)
        life.end()
        life.begin(hand)
        life.close()
    survivor = InHand(letters, tmp_path / "ada.hand")
    survivor.open()
    survivor.begin(hand)
    survivor.end()
    survivor.close()
    assert (tmp_path / "ada.hand").read_bytes() == bytes(16)


def test_a_node_begins_also_where_it_can_note_nothing(tmp_path: Path) -> None:
    (tmp_path / "no folder").write_text("")
    in_hand = InHand(DeadLetterFile(), tmp_path / "no folder" / "ada.hand")
    in_hand.open()
    in_hand.begin(b"x" * 16)
    in_hand.end()
    assert (in_hand.is_on, in_hand.current) == (False, b"")
    in_hand.close()
