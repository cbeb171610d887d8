"""What the memory bus has besides the contract: dead letters to look at, and its traffic counted."""

import asyncio

from hive_mind.bus import memory
from hive_mind.bus.base import correlation_of, type_of
from hive_mind.bus.memory import DEAD_LETTERS_MAX, MemoryBus, Traffic
from hive_mind.model.messages import FactsRequest, Message, Receipt
from tests.contract.bus_builders import envelope, listener, texts


def test_after_its_last_attempt_an_envelope_is_a_dead_letter_with_the_reason() -> None:
    async def scenario() -> None:
        bus = await memory.open()
        bob = await listener(bus, attempts_max=3)
        poison = envelope("poison")
        await bus.publish([poison, envelope("good")])
        for _ in range(3):
            (delivery,) = await bob.take()
            await delivery.nack(reason=f"attempt {delivery.attempt} failed")

        assert texts(await bob.take()) == ["good"]
        (letter,) = bus.dead_letters
        assert (letter.name, letter.envelope, letter.attempts, letter.reason) == ("bob", poison, 3, "attempt 3 failed")

    asyncio.run(scenario())


def test_what_can_not_be_handled_is_put_aside_at_once_and_only_so_many_are_kept() -> None:
    async def scenario() -> None:
        bus = await memory.open()
        bob = await listener(bus, waiting_max=2 * DEAD_LETTERS_MAX)
        await bus.publish([envelope(str(n)) for n in range(DEAD_LETTERS_MAX + 1)])
        for _ in range(DEAD_LETTERS_MAX + 1):
            await (await bob.take())[0].dead_letter("not ours")

        assert [letter.envelope.message for letter in bus.dead_letters] == [
            Receipt(str(n)) for n in range(1, DEAD_LETTERS_MAX + 1)
        ]

    asyncio.run(scenario())


def test_traffic_counts_each_copy_and_only_with_a_measure() -> None:
    def size(message: Message) -> int:
        assert isinstance(message, Receipt)
        return len(message.parcel)

    async def scenario(bus: MemoryBus) -> dict[str, Traffic]:
        await listener(bus)
        await bus.publish([envelope("abc"), envelope("12345", "bob", "absent")])
        await bus.publish([envelope("x")])
        return dict(bus.traffic)

    assert asyncio.run(scenario(MemoryBus(size))) == {"receipt": Traffic(4, 14)}
    assert asyncio.run(scenario(MemoryBus())) == {}


def test_an_envelope_names_what_its_message_is_and_belongs_to() -> None:
    question = FactsRequest("q7", (), 1000)

    assert (type_of(question), correlation_of(question)) == ("facts?", "q7")
    assert (type_of(Receipt("p")), correlation_of(Receipt("p"))) == ("receipt", "")
