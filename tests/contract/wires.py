"""Brokers that hives of several processes run over, one of each kind for a whole run, and what processes must know of them."""

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Protocol

from tests.contract.buses import eventhubs, servicebus
from tests.servers.redis_server import RedisServer


class Wire(Protocol):
    """`arguments` are options of `hive-mind agent run`; `environment` are the secrets that belong to them."""

    bus: str
    searches: str
    environment: dict[str, str]

    def provide(self, hive: str, *names: str) -> None:
        """Whatever the broker must know before these names subscribe."""


class RedisWire:
    searches = ""

    def __init__(self) -> None:
        self.server = RedisServer()
        self.server.start()
        atexit.register(self.stop)
        self.bus = self.server.url
        self.environment: dict[str, str] = {}

    def stop(self) -> None:
        atexit.unregister(self.stop)
        self.server.stop()

    def provide(self, hive: str, *names: str) -> None:
        del hive, names


class AmqpWire:
    """What must not be lost over Service Bus, questions over Event Hubs; both as the development broker has them."""

    def __init__(self) -> None:
        self._durable, self._live = self.harnesses = servicebus.Harness(), eventhubs.Harness()
        for harness in self.harnesses:
            harness.start()
        atexit.register(self.stop)
        self.bus, self.searches = str(self._durable.address()), str(self._live.address())
        self.environment = {
            "HIVE_MIND_BUS_CREDENTIAL": self._durable.settings().credential,
            "HIVE_MIND_SEARCHES_CREDENTIAL": self._live.settings().credential,
        }

    def stop(self) -> None:
        atexit.unregister(self.stop)
        for harness in self.harnesses:
            harness.stop()

    def provide(self, hive: str, *names: str) -> None:
        for name in names:
            self._durable.provide(hive, name)
            self._live.provide(hive, name)


WIRES = {"redis": RedisWire, "servicebus and eventhubs": AmqpWire}


@cache
def wire(name: str) -> Wire:
    """One of `WIRES`, running."""
    return WIRES[name]()


class _Environment:
    """What this process has of a wire's secrets, and had before; those who want the same ones at the same time share them."""

    def __init__(self) -> None:
        self._uses = 0
        self._former: dict[str, str | None] = {}

    def enter(self, secrets: dict[str, str]) -> None:
        if not self._uses:
            self._former = {name: os.environ.pop(name, None) for name in _SECRETS}
            os.environ.update(secrets)
        assert {name: os.environ[name] for name in _SECRETS if name in os.environ} == secrets, "two wires at the same time"
        self._uses += 1

    def leave(self) -> None:
        self._uses -= 1
        if not self._uses:
            for name in _SECRETS:
                os.environ.pop(name, None)
            os.environ.update({name: value for name, value in self._former.items() if value is not None})


_SECRETS = ("HIVE_MIND_BUS_CREDENTIAL", "HIVE_MIND_SEARCHES_CREDENTIAL")
_ENVIRONMENT = _Environment()


@contextmanager
def secrets_of(chosen: Wire) -> Iterator[None]:
    """What this process opens and starts meanwhile has the secrets of this wire, and of no other."""
    _ENVIRONMENT.enter(chosen.environment)
    try:
        yield
    finally:
        _ENVIRONMENT.leave()
