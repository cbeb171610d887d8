"""`hive-mind broker`: a development broker that clients of Azure Event Hubs and Service Bus take for the real one.

It runs until Ctrl-C. Everybody who reaches the port can use it, since its key is a published one: so it listens to this machine
only, unless told otherwise.
"""

import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from hive_mind.cli import options
from hive_mind.cli.agent_config import set_by_signals
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import show
from hive_mind.cli.running import Stopped
from hive_mind.devbroker import Broker, BrokerSettings
from hive_mind.devbroker.amqp.switchboard import parse_fault
from hive_mind.devbroker.config import PARTITIONS, apply, read_config
from hive_mind.errors import BackendUnavailable, InvalidInput, reason_of

_WARNING = "for development and test only; keeps nothing over a restart (durable=False)"

Hub = Annotated[list[str] | None, typer.Option("--hub", metavar="NAME:PARTITIONS", help="Make an event hub. Repeatable.")]
Config = Annotated[Path | None, typer.Option("--config", help="Make the entities in a Config.json of Microsoft's emulators.")]
Partitions = Annotated[int, typer.Option("--partitions", min=1, max=1024, help="Of a hub that --auto-create makes.")]


group = Group()


@group.called_as(
    "hive-mind broker --auto-create",
    "hive-mind broker --config Config.json",
    "hive-mind broker --hub events:4 --topic news --fault 'send:events*:server-busy:times=3'",
)
async def broker(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 5672,
    config: Config = None,
    hub: Hub = None,
    queue: Annotated[list[str] | None, typer.Option("--queue", metavar="NAME", help="Make a queue. Repeatable.")] = None,
    topic: Annotated[list[str] | None, typer.Option("--topic", metavar="NAME", help="Make a topic. Repeatable.")] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault", metavar="KIND:ADDRESS:WHAT", help="Inject a fault, as in send:hub/*:server-busy:times=3. Repeatable."
        ),
    ] = None,
    *,
    auto_create: Annotated[bool, typer.Option("--auto-create", help="Make hubs, topics and subscriptions on first use.")] = False,
    partitions: Partitions = PARTITIONS,
    output: options.Output = Format.TEXT,
) -> None:
    """Run a broker for development: Event Hubs and Service Bus on this machine, in memory."""
    running = Broker(BrokerSettings(auto_partitions=partitions if auto_create else 0))
    entities = _make(running, config, hub or [], queue or [], topic or [])
    for text in fault or []:
        running.faults.add(parse_fault(text))
    try:
        await running.start(port=port)
    except OSError as error:
        raise BackendUnavailable("broker", f"can't listen on port {port}: {reason_of(error)}; give another --port") from error
    stop, received = asyncio.Event(), list[signal.Signals]()
    # Before anything is printed: a reader may react with a signal.
    with set_by_signals(stop, received):
        _show(running, entities, output)
        try:
            await stop.wait()
        finally:
            await running.stop()
    if signal.SIGINT in received:
        raise Stopped("stopped; nothing was kept")


def _make(running: Broker, config: Path | None, hubs: Sequence[str], queues: Sequence[str], topics: Sequence[str]) -> list[str]:
    """The entities that were asked for by name; those of a file are not listed."""
    if config is not None:
        apply(read_config(config), running.entities)
    names = [running.entities.add_hub(*_named(text)).name for text in hubs]
    for name in queues:
        running.entities.namespace.add_queue(name)
    for name in topics:
        running.entities.namespace.add_topic(name)
    return [*names, *queues, *topics]


def _named(text: str) -> tuple[str, int]:
    name, _, partitions = text.partition(":")
    if not (partitions.isascii() and partitions.isdigit()):
        raise InvalidInput(f"--hub is NAME:PARTITIONS such as events:4, not {text!r}")
    return name, int(partitions[:5])


def _show(running: Broker, entities: Sequence[str], output: Format) -> None:
    strings = {name: running.connection_string(name) for name in entities}
    everything = running.connection_string()
    if output is Format.JSON:
        line = {"host": running.host, "port": running.port, "durable": False, "connection_string": everything}
        sys.stdout.write(msgspec.json.encode({**line, "connection_strings": strings}).decode() + "\n")
    else:
        show(f"broker at {running.host}:{running.port}, {_WARNING}")
        for string in (everything, *strings.values()):
            show(f"  {string}")
    sys.stdout.flush()
