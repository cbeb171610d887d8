"""A broker for development and tests that the clients of Azure Event Hubs and Service Bus take for the real one.

It speaks AMQP 1.0, checks tokens, keeps hubs, queues, topics and subscriptions in memory, and makes faults on demand. It keeps
nothing over a restart. `BrokerThread` is what a test starts; `hive-mind broker` is the same as a command.
"""

import asyncio
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from hive_mind.devbroker.amqp import SERVER_BUSY
from hive_mind.devbroker.amqp.switchboard import DELAY_S, Fault, FaultAction, FaultKind, Limits
from hive_mind.devbroker.broker import KEY, KEY_NAME, Broker, BrokerSettings
from hive_mind.devbroker.config import PARTITIONS, apply
from hive_mind.devbroker.eventhub import Retention
from hive_mind.errors import HiveError

_T = TypeVar("_T")

# Of a call into the broker's loop; it is never busy for long.
_CALL_S = 10.0


class BrokerThread:
    """A broker that other threads use. `config` has the form of Microsoft's Config.json; port 0 takes a free one."""

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        settings: BrokerSettings | None = None,
    ) -> None:
        self._config, self._settings = config or {}, settings
        self._port, self._host, self._tls = port, host, tls
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._errors: list[Exception] = []
        self._stop: asyncio.Future[bool]
        self._loop: asyncio.AbstractEventLoop
        self.broker: Broker

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start, empty but for what the configuration says. Raises `OSError` for a port that is taken, `InvalidInput`."""
        self._ready.clear()
        self._errors.clear()
        self._thread = threading.Thread(target=self._run, name="devbroker", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._errors:
            self._thread.join()
            raise self._errors.pop()

    def stop(self, *, is_graceful: bool = True) -> None:
        """Stop; all that was kept is gone. Without grace clients see what they see when a broker is killed."""
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set_result, is_graceful)
            thread.join()

    @property
    def port(self) -> int:
        """Where it listens; the same again after another `start`."""
        return self._port

    def connection_string(self, entity: str = "", *, is_emulator: bool = True) -> str:
        return self.broker.connection_string(entity, is_emulator=is_emulator)

    def call(self, function: Callable[..., _T], *args: Any, **named: Any) -> _T:

        async def run() -> _T:
            return function(*args, **named)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(_CALL_S)

    def add_hub(self, name: str, partitions: int = PARTITIONS, groups: Sequence[str] | None = None) -> None:
        """A new hub; every consumer group exists unless they are named."""
        self.call(self.broker.entities.add_hub, name, partitions, groups)

    def add_queue(self, name: str, **properties: Any) -> None:
        """A new queue; properties as in Config.json."""
        self.call(self.broker.entities.namespace.add_queue, name, properties)

    def add_topic(self, name: str, **properties: Any) -> None:
        """A new topic; properties as in Config.json."""
        self.call(self.broker.entities.namespace.add_topic, name, properties)

    def add_subscription(self, topic: str, name: str, rules: Sequence[Mapping[str, Any]] = (), **properties: Any) -> None:
        self.call(self.broker.entities.namespace.add_subscription, topic, name, properties, rules)

    def inject(
        self,
        kind: FaultKind,
        address: str = "*",
        action: FaultAction = "error",
        *,
        condition: str = SERVER_BUSY,
        times: int = 1,
        skip: int = 0,
        delay_s: float = DELAY_S,
    ) -> None:
        """Order a fault: see `amqp.switchboard.Fault`."""
        self.call(self.broker.faults.add, Fault(kind, address, action, condition, times, skip, delay_s))

    def clear_faults(self) -> None:
        self.call(self.broker.faults.clear)

    def drop_connections(self) -> int:
        """Cut all connections without a word. Returns how many there were."""
        return self.call(self.broker.drop_connections)

    def stats(self) -> dict[str, int]:
        return self.call(lambda: {**self.broker.stats, "connections now": self.broker.connections})

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except (OSError, HiveError) as error:
            self._errors.append(error)
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = self._loop.create_future()
        self.broker = Broker(self._settings)
        apply(self._config, self.broker.entities)
        self._port = await self.broker.start(self._host, self._port, tls=self._tls)
        self._ready.set()
        await self.broker.stop(is_graceful=await self._stop)


__all__ = ["KEY", "KEY_NAME", "Broker", "BrokerSettings", "BrokerThread", "Fault", "Limits", "Retention"]
