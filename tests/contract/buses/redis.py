"""A real Redis server of our own, behind a proxy that can lose replies; or one named by HIVE_CONTRACT_REDIS."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import get_args

from hive_mind.bus import BusSettings, Envelope
from hive_mind.bus.address import BusAddress, address_of
from hive_mind.bus.codec import encode
from hive_mind.bus.redis import keys
from tests.contract.buses.base import BaseHarness, Fault
from tests.servers.redis_server import RedisOptions, RedisServer
from tests.servers.tcp_proxy import TcpProxy


class Harness(BaseHarness):
    quiet_s = 0.1

    def __init__(self) -> None:
        self._url = os.environ.get("HIVE_CONTRACT_REDIS", "")
        if self._url:
            return
        self.faults = frozenset(get_args(Fault))
        # Hives of tests begin with a t.
        rules = "~hive:t* +@all"
        self._server = RedisServer(RedisOptions(user="bee", password=secrets.token_hex(8), rules=rules))
        self._proxy = TcpProxy(self._server.port)

    def start(self) -> None:
        if not self._url:
            self._server.start()
            self._proxy.start()

    def stop(self) -> None:
        if not self._url:
            self._proxy.stop()
            self._server.stop()

    def address(self) -> BusAddress:
        if self._url:
            return address_of(self._url)
        return replace(address_of(self._server.url), port=self._proxy.port)

    def settings(self) -> BusSettings:
        return BusSettings(reconnect_s_max=0.5, connect_timeout_s=20)

    def drop_connections(self) -> None:
        self._proxy.drop_connections()

    def restart(self) -> None:
        self._server.restart()

    @contextmanager
    def down(self) -> Iterator[None]:
        self._server.kill()
        try:
            yield
        finally:
            self._server.start()

    @contextmanager
    def in_doubt(self) -> Iterator[None]:
        self._proxy.lose_next_reply_to(b"XADD")
        yield

    @contextmanager
    def throttle(self) -> Iterator[None]:
        self._server.do("CONFIG", "SET", "maxmemory", "1")
        try:
            yield
        finally:
            self._server.do("CONFIG", "SET", "maxmemory", "0")

    @contextmanager
    def idle_timeout(self, seconds: int) -> Iterator[None]:
        self._server.do("CONFIG", "SET", "timeout", str(seconds))
        try:
            yield
        finally:
            self._server.do("CONFIG", "SET", "timeout", "0")

    def with_wrong_credential(self) -> tuple[BusAddress, BusSettings]:
        return replace(self.address(), password=secrets.token_hex(8)), self.settings()

    def with_missing_entity(self) -> tuple[BusAddress, BusSettings]:
        return replace(self.address(), path="4242"), self.settings()

    def forbidden(self) -> tuple[str, str]:
        return "others", "bob"

    def publish_bytes(self, hive: str, name: str, data: bytes) -> None:
        self._server.do("XADD", f"hive:{hive}:inbox:{name}", "*", "e", data)

    def give_up(self, hive: str, name: str, envelopes: Sequence[Envelope]) -> None:
        """Dead letters of a name, as a node of an earlier version wrote them."""
        for envelope in envelopes:
            fields = ("name", name, "reason", "not now", "attempts", "1", "at", "1700000000000", "e", encode(envelope))
            self._server.do("XADD", keys.letters(hive).decode(), "*", *fields)
