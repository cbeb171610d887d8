"""Connections on which nobody shows a token take no room from clients that do."""

import asyncio
from pathlib import Path

from hive_mind.runtime.workers import strangers
from hive_mind.runtime.workers.strangers import BACKLOG, STRANGERS_MAX, Strangers
from tests.unit.runtime.workers.test_health import KNOWN, calling


def test_the_oldest_stranger_ends_where_there_are_too_many_and_a_client_that_is_known_never() -> None:
    ended: list[int] = []
    door = Strangers(most=2)
    door.arrived(1, lambda: ended.append(1))
    door.known(1)
    for number in (2, 3, 4):
        door.arrived(number, lambda number=number: ended.append(number))  # type: ignore[misc]

    assert ended == [2]


def test_a_loop_reads_the_requests_of_those_that_came_together_before_one_of_them_is_the_oldest() -> None:
    assert 2 * BACKLOG < STRANGERS_MAX


async def test_a_client_is_answered_however_many_connections_wait_with_half_a_request(tmp_path: Path) -> None:
    async with calling(tmp_path) as call:
        assert (await call.get("/v1/status", headers=KNOWN))[0] == 200
        half_open = []
        for _ in range(strangers.STRANGERS_MAX + 20):
            reader, writer = await asyncio.open_connection("127.0.0.1", call.port)
            writer.write(b"GET /healthz HTTP/1.1\r\nHo")
            half_open.append((reader, writer))

        assert (await call.get("/v1/status", headers=KNOWN))[0] == 200
        first, last = half_open[0], half_open[-1]
        assert await first[0].read() == b""
        last[1].write(b"st: localhost\r\nConnection: close\r\n\r\n")
        assert (await last[0].read()).startswith(b"HTTP/1.1 200")

        for _, writer in half_open:
            writer.close()
