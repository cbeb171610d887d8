"""`hive-mind events`: what goes over a bus, what waits on it, and the dead letters, to be looked at, sent again or dropped."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from hive_mind.bus import DeadLetter, Envelope, EventBus, QueueState, admin_of
from hive_mind.bus.address import in_words
from hive_mind.bus.codec import as_cloud_event
from hive_mind.bus.dead_letters import files_in
from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, examples, refuse_ineffective
from hive_mind.cli.output import plain, say, say_cut, show, show_json, show_result, show_table
from hive_mind.cli.running import CommandError
from hive_mind.clocks import wall_clock_ms
from hive_mind.counted import counted
from hive_mind.errors import BackendError, InvalidInput
from hive_mind.model.bounds import LIMIT_MAX
from hive_mind.runtime.buses import open_bus
from hive_mind.runtime.node import HIVE
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    from hive_mind.control.letters import FleetBus
    from hive_mind.runtime.dead_letters import HiveLetters

_CLOSE_S = 2.0
# Envelopes that wait to be printed; a terminal that is slower than the bus misses some, and says so.
_WAITING_MAX = 10_000
_LETTERS_MAX = 100_000
_LIMIT = 100

group = Group(
    name="events",
    help="Look at what goes over a bus, and at its dead letters.",
    epilog=examples("hive-mind events tail --bus redis://127.0.0.1:6379", "hive-mind events stats --hive research"),
    no_args_is_help=True,
)

State = Annotated[
    Path | None,
    typer.Option("--state", help="Folder of a member's positions on Event Hubs, where an earlier version kept its dead letters."),
]
Fleet = Annotated[
    str,
    typer.Option("--fleet", help="The fleet whose bus and hive they are, as its state says.", autocompletion=fleets.fleet_names),
]
Count = Annotated[
    int | None, typer.Option("--count", "-n", min=1, help="End after this number of events.", show_default="until Ctrl-C")
]


@dataclass(frozen=True, slots=True)
class OneHive:
    """The hive whose messages are looked at, and where its bus is."""

    bus: Annotated[str, typer.Option("--bus", metavar="URL", help=in_words(), show_default="HIVE_MIND_BUS")] = ""
    hive: Annotated[str, typer.Option("--hive", help="The hive of the messages.")] = HIVE
    state: State = None
    fleet: Fleet = ""
    home: options.Home = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[tuple["EventBus | FleetBus", str]]:
        """Its bus and its name. Raises `InvalidInput` where they are given twice, or not at all."""
        self._refuse_both()
        if self.fleet:
            from hive_mind.control.letters import bus_of_fleet

            home = fleets.home_of(self.home)
            async with bus_of_fleet(home, fleets.chosen_fleet(home, self.fleet)) as bus:
                yield bus, bus.hive
            return
        async with _opened(self.bus, self.state) as opened:
            yield opened, self.hive

    def _refuse_both(self) -> None:
        if self.fleet and (self.bus or self.state is not None or self.hive != HIVE):
            raise InvalidInput("the fleet says which bus and hive: leave --bus, --hive and --state out, or --fleet")

    @asynccontextmanager
    async def letters(self, *, is_bus_needed: bool = False) -> AsyncIterator["HiveLetters"]:
        """Its dead letters. Those of the nodes whose journals are here are there while its bus is not."""
        from hive_mind.runtime.dead_letters import HiveLetters

        self._refuse_both()
        home, hive = fleets.home_of(self.home), self.hive
        if self.fleet:
            from hive_mind.control.letters import hive_of_fleet

            hive = hive_of_fleet(home, fleets.chosen_fleet(home, self.fleet))
        folder = home / "hives" / hive
        async with AsyncExitStack() as stack:
            try:
                opened, hive = await stack.enter_async_context(self.opened())
            except (InvalidInput, BackendError) as error:
                if is_bus_needed or not files_in(folder):
                    raise
                say(f"only what nodes refused here, for its bus can't be looked at: {error}", style="yellow")
                yield HiveLetters(hive, None, folder)
                return
            yield HiveLetters(hive, admin_of(opened), folder if folder.is_dir() else None)


def show_line(envelope: Envelope, output: Format) -> None:
    """One message, one line, at once."""
    if output is Format.JSON:
        sys.stdout.buffer.write(msgspec.json.encode(as_cloud_event(envelope)) + b"\n")
    else:
        time = _time(envelope.sent_ms or wall_clock_ms())
        targets = ", ".join(envelope.target)
        show(" ".join(filter(None, (time, envelope.sender, "→", targets, envelope.type, envelope.correlation_id))))
    sys.stdout.flush()


def queue_row(queue: QueueState) -> tuple[str, ...]:
    """A line of `stats`; what the broker does not tell is a question mark."""
    figures = (queue.waiting, queue.unacknowledged, queue.dead)
    oldest = "" if queue.oldest_s is None else f"{queue.oldest_s:.1f} s"
    return (queue.name, *("?" if figure is None else str(figure) for figure in figures), oldest)


def letter_row(letter: DeadLetter) -> tuple[str, ...]:
    """A line of the list of dead letters."""
    kind = "unreadable" if letter.envelope is None else letter.envelope.type
    return letter.id, letter.name, _time(letter.at_ms), str(letter.attempts), str(letter.count), kind, letter.reason


def letter_fields(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter as JSON, without its message."""
    names = ("id", "name", "attempts", "count", "reason", "at_ms")
    fields = {name: getattr(letter, name) for name in names}
    if letter.envelope is None:
        return {**fields, "data": letter.data}
    return {**fields, "type": letter.envelope.type, "sender": letter.envelope.sender, "envelope": letter.envelope.id}


def show_letters(letters: Sequence[DeadLetter], output: Format) -> None:
    """Each with its message."""
    if output is Format.JSON:
        documents = [
            {**letter_fields(letter), "event": None if letter.envelope is None else as_cloud_event(letter.envelope)}
            for letter in letters
        ]
        show_json(documents if len(documents) > 1 else documents[0])
        return
    for number, letter in enumerate(letters):
        if number:
            show()
        rows = [("id", letter.id), ("for", letter.name), ("put aside", _time(letter.at_ms)), ("attempts", str(letter.attempts))]
        rows += [("count", str(letter.count) if letter.count > 1 else ""), ("reason", letter.reason)]
        if (envelope := letter.envelope) is not None:
            rows += [("type", envelope.type), ("from", envelope.sender), ("to", ", ".join(envelope.target))]
            rows += [("envelope", envelope.id), ("belongs to", envelope.correlation_id), ("trace", envelope.trace)]
        show_table(["", ""], [row for row in rows if row[1]])
        show()
        if envelope is None:
            show(letter.data_shown)
        else:
            message = msgspec.to_builtins(envelope.message, enc_hook=str)
            show(msgspec.json.format(msgspec.json.encode(message), indent=2).decode())


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00") if ms else ""


@group.called_as("hive-mind events tail --bus redis://127.0.0.1:6379", "hive-mind events tail -o json | jq .type")
async def tail(count: Count = None, output: options.Output = Format.TEXT, *, of: OneHive) -> None:
    """Print every message from now on, a line each; as CloudEvents with --output json. Nobody misses a message because of it."""
    waiting: asyncio.Queue[Envelope] = asyncio.Queue(_WAITING_MAX)
    missed = 0

    def see(envelope: Envelope) -> None:
        nonlocal missed
        try:
            waiting.put_nowait(envelope)
        except asyncio.QueueFull:
            missed += 1

    async with of.opened() as (opened, hive):
        watch = await opened.watch(hive, see)
        say(f"watching hive {hive!r}; Ctrl-C ends it")
        try:
            for _ in iter(int, 1) if count is None else range(count):
                show_line(await waiting.get(), output)
        finally:
            await watch.close()
            if missed:
                say(f"{counted(missed, 'message')} came faster than could be printed ; not shown", style="yellow")


@group.called_as("hive-mind events stats --hive research")
async def stats(output: options.Output = Format.TEXT, *, of: OneHive) -> None:
    """Show how much waits for each member."""
    async with of.letters(is_bus_needed=True) as letters:
        queues, hive = await letters.queues(), letters.hive
    if output is Format.JSON:
        show_json(plain(queues))
    elif not queues:
        show(f"nobody ever subscribed in hive {hive!r} on this bus")
    else:
        rows = [queue_row(queue) for queue in queues]
        show_table(["name", "waiting", "in hand", "dead", "oldest"], rows, right=(1, 2, 3, 4))


@group.called_as(
    "hive-mind events dlq --fleet harbour",
    "hive-mind events dlq 12",
    "hive-mind events dlq 12 13 --replay",
    "hive-mind events dlq --all --drop --yes",
)
async def dlq(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="As in the list.", show_default="list them")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Deliver them again.")] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Forget them for good.")] = False,
    is_all: Annotated[bool, typer.Option("--all", help="With --replay or --drop: every dead letter of the hive.")] = False,
    is_sure: options.Yes = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=LIMIT_MAX, help="List at most this many.", show_default=str(_LIMIT))
    ] = None,
    output: options.Output = Format.TEXT,
    *,
    of: OneHive,
) -> None:
    """List dead letters, messages that could not be handled, the oldest first; show those that are named, send or drop them.

    Those that nodes refused lie beside their journals, so they are there while a node is down or can't start; the broker's are
    listed with them. --replay lets the node handle a letter again, now or when it runs; unreadable ones stay. --drop forgets
    them, for good.
    """
    if replay and drop:
        raise InvalidInput("--replay and --drop are mutually exclusive")
    is_changing = replay or drop
    if not is_changing:
        refuse_ineffective("a list: add --replay or --drop, or", all=is_all, yes=is_sure)
    if ids or is_changing:
        refuse_ineffective("letters that are named", limit=limit)
    async with of.letters() as letters:
        if is_changing:
            chosen = await _chosen(letters, ids or [], is_all=is_all)
            count = counted(len(chosen), "message")
            question = f"forget {count} for good?" if drop else f"deliver {count} again?"
            if is_all and not is_sure and not typer.confirm(question, err=True):
                raise CommandError("nothing was done")
            await (_drop if drop else _replay)(letters, chosen, output)
            return
        if ids:
            show_letters(await _chosen(letters, ids, is_all=False), output)
            return
        limit = limit or _LIMIT
        listed, pushed_out = await letters.listed(limit), await letters.pushed_out()
    if output is Format.JSON:
        show_json([letter_fields(letter) for letter in listed])
    elif not listed:
        show(f"no dead letters in hive {letters.hive!r}")
    else:
        show_table(["id", "for", "when", "attempts", "count", "type", "reason"], map(letter_row, listed), right=(3, 4))
    if len(listed) == limit:
        say_cut(limit, "message")
    if pushed_out:
        say(f"{counted(pushed_out, 'older letter')} went for want of room", style="yellow")


async def _replay(letters: "HiveLetters", chosen: Sequence[DeadLetter], output: Format) -> None:
    replayed = await letters.replay([letter.id for letter in chosen])
    show_result(output, {"replayed": replayed, "chosen": len(chosen)}, f"{replayed} of {len(chosen)} sent again")
    if replayed < len(chosen):
        raise CommandError("the others can't be read by this version; `dlq ID` says why")


async def _drop(letters: "HiveLetters", chosen: Sequence[DeadLetter], output: Format) -> None:
    dropped = await letters.drop([letter.id for letter in chosen])
    show_result(output, {"dropped": dropped, "chosen": len(chosen)}, f"{dropped} dropped")


@asynccontextmanager
async def _opened(url: str, state: Path | None) -> AsyncIterator[EventBus]:
    url = url or Settings.from_environment().bus
    if not url:
        raise InvalidInput("which bus? Give its URL with --bus, or set HIVE_MIND_BUS")
    opened = await open_bus(url, state)
    try:
        yield opened
    finally:
        await opened.close(drain_s=_CLOSE_S)


async def _chosen(letters: "HiveLetters", ids: Sequence[str], *, is_all: bool) -> list[DeadLetter]:
    """The dead letters that are meant. Raises `InvalidInput` where none are named, `CommandError` where one is not there."""
    if bool(ids) == is_all:
        raise InvalidInput("which dead letters? Give their ids, as `dlq` lists them, or --all")
    if is_all:
        return await letters.listed(_LETTERS_MAX)
    chosen = await letters.find(ids)
    present = {letter.id for letter in chosen}
    if missing := [id for id in ids if id not in present]:
        raise CommandError(f"hive {letters.hive!r} has no dead letter {', '.join(missing)}; `dlq` lists those there are")
    return chosen
