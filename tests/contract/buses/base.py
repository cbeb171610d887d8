"""What the contract of buses needs to know about a broker: how to reach it, and how to harm it.

One file per back end, named like it, with a class `Harness`. A harness of the real service has the same class with an address
from the environment and without faults.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from hive_mind.bus import BusSettings
from hive_mind.bus.address import BusAddress

Fault = Literal[
    "drop", "restart", "down", "in_doubt", "throttle", "idle", "wrong_credential", "missing_entity", "forbidden", "bytes"
]
"""What a harness can do; a test that needs another fault is skipped, and says which."""


class BaseHarness(ABC):
    """A broker for some tests, one after another. Methods block for a moment; they may be called while a loop runs.

    Tests use hives of their own names, and call `provide` before they subscribe.
    """

    faults: frozenset[Fault] = frozenset()
    """Those of the methods below that work."""
    opens_quickly = True
    """Whether a bus is open within milliseconds."""
    quiet_s = 0.0
    """How long a test waits to be sure that nothing comes. Something takes far less."""

    def start(self) -> None:  # noqa: B027 - many have nothing to do
        """Bring the broker up."""

    def stop(self) -> None:  # noqa: B027 - many have nothing to do
        """Take it down, and leave nothing behind."""

    def reset(self) -> None:  # noqa: B027 - many have nothing to do
        """After each test: no fault is active any more, and the broker runs."""

    @abstractmethod
    def address(self) -> BusAddress:
        """Where it is."""

    def settings(self) -> BusSettings:
        """What else is needed to open a bus."""
        return BusSettings()

    def new_hive(self) -> str:
        """The name of a hive that no test used before. The harness of a real service may always give the same."""
        return f"t{secrets.token_hex(4)}"

    def provide(self, hive: str, name: str) -> None:  # noqa: B027 - many need nothing
        """Whatever the broker must know before this name subscribes in this hive, such as entities. May be called again."""

    def drop_connections(self) -> None:
        """Fault "drop": cut every connection there is; new ones work."""
        raise NotImplementedError

    def restart(self) -> None:
        """Fault "restart": kill the broker, start it again over what it kept."""
        raise NotImplementedError

    @contextmanager
    def down(self) -> Iterator[None]:
        """Fault "down": killed at the beginning, started again at the end."""
        raise NotImplementedError
        yield

    @contextmanager
    def in_doubt(self) -> Iterator[None]:
        """Fault "in_doubt": the next publish is accepted and its connection cut before the reply."""
        raise NotImplementedError
        yield

    @contextmanager
    def throttle(self) -> Iterator[None]:
        """Fault "throttle": every publish is told to come later."""
        raise NotImplementedError
        yield

    @contextmanager
    def idle_timeout(self, seconds: int) -> Iterator[None]:  # noqa: ARG002 - for those who have one
        """Fault "idle": connections on which nothing was said for so long are cut by the broker."""
        raise NotImplementedError
        yield

    def with_wrong_credential(self) -> tuple[BusAddress, BusSettings]:
        """Fault "wrong_credential": what the broker refuses to let in."""
        raise NotImplementedError

    def with_missing_entity(self) -> tuple[BusAddress, BusSettings]:
        """Fault "missing_entity": a place that does not exist on the broker, such as a hub or a database."""
        raise NotImplementedError

    def forbidden(self) -> tuple[str, str]:
        """Fault "forbidden": a hive and a name as which nobody can subscribe here, for want of an entity or a right."""
        raise NotImplementedError

    def publish_bytes(self, hive: str, name: str, data: bytes) -> None:
        """Fault "bytes": put something that may be no envelope where this name reads."""
        raise NotImplementedError
