"""Peers that send anything at all: the broker refuses or understands, and everybody else goes on working."""

import asyncio
import os
import socket
import time
from random import Random

import psutil
import pytest

from hive_mind.devbroker import BrokerThread
from hive_mind.devbroker.amqp import frame
from tests.chance import seed_of_this_run
from tests.unit.devbroker.hostility import conversation, full_broker, spoil
from tests.unit.devbroker.peers import Peer
from tests.unit.devbroker.values import damaged, section

# Of the process, over the whole long run; what the entities may keep is a few MB.
GROWTH_BYTES_MAX = 60 << 20
FRAMES = int(os.environ.get("HIVE_SPOILED_FRAMES", "1_000"))


async def test_the_conversation_is_understood_while_nobody_spoils_it():
    broker = full_broker()
    peer = Peer(broker)
    for each in conversation():
        peer.send(each)
    await peer.turn()
    peer.connection.connection_lost(None)
    stats = broker.stats

    assert (stats["internal errors"], [name for name in stats if name.startswith("closed")]) == (0, [])
    assert stats["tokens"] == 1
    assert stats["events"] >= 3


def storm(seed: int, frames_wanted: int) -> None:
    """Many peers one after the other, each of which spoils the conversation in its own way."""
    random, frames, sent = Random(seed), conversation(), 0

    async def run():
        nonlocal sent
        broker = full_broker()
        good = Peer(broker)
        for each in frames[:9]:
            good.send(each)
        good.attach_sender(100, "hub/Partitions/3")
        while sent < frames_wanted:
            peer = Peer(broker)
            sent += spoil(peer, random, frames)
            await peer.turn()
            peer.connection.connection_lost(None)
            assert broker.stats["internal errors"] == 0, f"seed {seed}"
        good.heard()
        good.message(100, "still here", number=5)
        assert good.heard(0x15)[-1].fields[4].descriptor == 0x24, f"seed {seed}"
        assert broker.connections == 1
        assert len(broker._timers) < 100
        return broker.stats

    stats = asyncio.run(run())

    refused = sum(count for name, count in stats.items() if name.startswith(("closed", "rejected", "refused")))
    assert refused > frames_wanted / 100, f"seed {seed}: {stats}"


@pytest.mark.slow
def test_very_many_spoiled_frames_harm_nobody_and_take_no_memory():
    seed = seed_of_this_run()
    process = psutil.Process()
    storm(seed, 2000)
    before = process.memory_info().rss

    storm(seed + 1, FRAMES)
    assert process.memory_info().rss - before < GROWTH_BYTES_MAX, f"seed {seed}"


def exchange(port: int, data: bytes) -> bytes:
    """Write to a broker, end our half, and read until it ends the other."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        wire.sendall(data)
        wire.shutdown(socket.SHUT_WR)
        heard = b""
        while chunk := wire.recv(65536):
            heard += chunk
        return heard


def test_spoiled_streams_over_sockets_come_to_an_end_and_the_next_peer_is_served():
    seed = seed_of_this_run()
    random, frames = Random(seed), conversation()
    with BrokerThread() as broker:
        for _ in range(20):
            exchange(broker.port, damaged(b"".join(frames), random))
        heard = exchange(broker.port, b"".join(frames[:9]) + b"\xff" * 8)
        stats = broker.stats()

    assert b"amqp:connection:framing-error" in heard
    assert stats.get("internal errors", 0) == 0, f"seed {seed}"


@pytest.mark.parametrize(
    "payload",
    [
        frame(0, b"\x00" * 60_000),
        frame(0, b"\x00\x53\x14" + b"\xd0\x00\x00\xea\x00\xff\xff\xff\xff" + b"\x40" * 59_000),
        frame(0, b"\x00\x53\x14" + b"\xc0\xff\x01" * 19_000),
        frame(0, b"\x00\x53\x14\xf0\x00\x00\x00\x05\xff\xff\xff\xff\x41"),
        frame(0, section(0x14, [section(0x14, b"x" * 50_000)] * 1)),
    ],
    ids=["nothing but zeros", "a huge count", "deep nesting", "billions of trues", "a frame in a frame"],
)
async def test_the_worst_frames_are_refused_at_once(payload):
    broker = full_broker()
    peer = Peer(broker)
    for each in conversation()[:9]:
        peer.send(each)
    start = time.process_time()
    peer.send(payload)
    spent = time.process_time() - start
    assert peer.connection.is_closed
    peer.connection.connection_lost(None)
    assert broker.stats["internal errors"] == 0
    assert spent < 2
