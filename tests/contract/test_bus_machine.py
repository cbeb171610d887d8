"""Nothing lost, nothing done twice, everybody in order: whatever a broker, a network and subscribers do, in whatever order.

Hypothesis writes the scenario, and when one fails, shortens it and prints how to repeat it.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from hive_mind.bus import EVERYONE, Delivery, Envelope
from tests.contract.bus_builders import Listener, World, published, text
from tests.contract.buses.base import BaseHarness
from tests.sampled import thorough

_SENDERS = ("ann", "cid")
_PATIENCE_S = 120


class Machine(RuleBasedStateMachine):
    """Two senders, one of whom speaks to everyone; one subscriber that remembers what it did; and somebody who breaks things."""

    def __init__(self, harness: BaseHarness) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._world = World(harness)
        self._harness = harness
        self._sent: dict[str, list[str]] = {sender: [] for sender in _SENDERS}
        self._sending: list[asyncio.Task[None]] = []
        self._first: list[str] = []
        self._done: list[str] = []
        self._in_hand: list[Delivery] = []
        self._done_in_this_life: set[str] = set()
        self._do(self._begin())

    @rule(sender=st.sampled_from(_SENDERS), count=st.integers(1, 30))
    def publish(self, sender: str, count: int) -> None:
        self._do(self._put_out(sender, [self._next(sender) for _ in range(count)]))

    @rule(count=st.integers(1, 20))
    def take(self, count: int) -> None:
        self._do(self._take(count))

    @rule(number=st.integers(1, 20), how=st.sampled_from(["ack", "ack", "ack", "nack", "nack later"]))
    def settle(self, number: int, how: str) -> None:
        # What is in hand depends on time, so what is chosen must not depend on it.
        some, self._in_hand = self._in_hand[:number], self._in_hand[number:]
        self._do(self._settle(some, how))

    @precondition(lambda self: self._world.bus.capabilities.is_durable)
    @rule(is_whole_process=st.booleans())
    def begin_again(self, is_whole_process: bool) -> None:
        """The subscriber is stopped, and another one of its name begins."""
        self._do(self._begin_again(is_whole_process))

    @precondition(lambda self: "drop" in self._harness.faults)
    @rule()
    def drop_connections(self) -> None:
        self._harness.drop_connections()

    @precondition(lambda self: "in_doubt" in self._harness.faults)
    @rule()
    def lose_a_reply(self) -> None:
        with self._harness.in_doubt():
            self._do(self._put_out("ann", [self._next("ann")]))

    @precondition(lambda self: "restart" in self._harness.faults and self._world.bus.capabilities.survives_restart)
    @rule()
    def restart(self) -> None:
        self._harness.restart()

    @rule(ms=st.integers(0, 50))
    def let_time_pass(self, ms: int) -> None:
        self._do(asyncio.sleep(ms / 1000))

    def teardown(self) -> None:
        try:
            self._do(self._finish())
            for sender in _SENDERS:
                assert sorted(one for one in self._done if one.startswith(sender)) == self._sent[sender]
                first = [one for one in self._first if one.startswith(sender)]
                assert first == sorted(first)
        finally:
            self._do(self._world.close())
            self._runner.close()
            self._harness.reset()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self._runner.run(asyncio.wait_for(work, _PATIENCE_S))

    async def _begin(self) -> None:
        self._world.bus = await self._world.open()
        self._bob: Listener = await self._world.listener(attempts_max=1000, waiting_max=40, inflight_max=60)

    def _next(self, sender: str) -> Envelope:
        said = f"{sender} {len(self._sent[sender]):04d}"
        self._sent[sender].append(said)
        # Order is promised for each target.
        return self._world.envelope(said, *(EVERYONE if sender == "cid" else ("bob",)), sender=sender)

    async def _put_out(self, sender: str, envelopes: list[Envelope]) -> None:
        """Into the outbox, which sends one batch after another, each until it is accepted."""
        former = self._sending[-1] if self._sending else None

        async def send() -> None:
            if former is not None:
                await former
            await published(self._world.bus, envelopes)

        self._sending.append(asyncio.create_task(send(), name=f"outbox of {sender}"))
        await asyncio.sleep(0)

    async def _take(self, count: int) -> None:
        await asyncio.sleep(0.002)
        for delivery in self._bob.inbox.take(count):
            self._look_at(delivery)
            self._in_hand.append(delivery)

    def _look_at(self, delivery: Delivery) -> None:
        said = text(delivery)
        assert said not in self._done_in_this_life, f"{said} came again after it was acknowledged"
        if delivery.attempt == 1 and said not in self._first:
            self._first.append(said)

    async def _settle(self, some: list[Delivery], how: str) -> None:
        for delivery in some:
            if how != "ack":
                await delivery.nack(delay_s=0.01 if how == "nack later" else 0.0)
                continue
            # A subscriber knows by its own records what it did: before an acknowledgement arrives, anything may happen.
            if text(delivery) not in self._done:
                self._done.append(text(delivery))
            self._done_in_this_life.add(text(delivery))
            await delivery.ack()

    async def _begin_again(self, is_whole_process: bool) -> None:
        self._in_hand, self._done_in_this_life = [], set()
        if is_whole_process:
            await asyncio.gather(*self._sending)
            self._sending = []
            await self._world.bus.close(drain_s=0)
            await self._begin()
        else:
            await self._bob.inbox.close()
            self._bob = await self._world.listener(attempts_max=1000, waiting_max=40, inflight_max=60)

    async def _finish(self) -> None:
        everything = sum(len(said) for said in self._sent.values())
        while len(self._done) < everything:
            await self._settle(self._in_hand, "ack")
            self._in_hand = []
            await self._take(50)
        await asyncio.gather(*self._sending)


@pytest.mark.parametrize("examples", [10, thorough(30)])
def test_whatever_fails_nothing_is_lost_done_twice_or_out_of_order(broker: BaseHarness, examples: int) -> None:
    # Where a second goes by until somebody is connected, an example takes half a minute.
    examples, steps = (examples, 30) if broker.opens_quickly else (1 + examples // 15, 12)
    run_state_machine_as_test(
        lambda: Machine(broker),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            print_blob=True,
            phases=tuple(Phase) if broker.opens_quickly else (Phase.explicit, Phase.reuse, Phase.generate),
            suppress_health_check=list(HealthCheck),
        ),
    )
