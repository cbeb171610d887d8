"""Clients of MCP that write at once, while they and the process that has the memory open are killed at random.

    python -m tests.chaos.mcp_storm [--clients 20] [--writes 100000] [--kills 100] [--seed N]

A client whose server was killed starts another and puts the write again of which it heard nothing. In the end each write must be
one fact of one source. An answer that is an error counts, whatever it says.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from mcp import Client, StdioServerParameters

from tests.servers.home_guard import HomeGuard

ROOT = str(Path(__file__).parents[2])
# One that hangs is no slow one.
PATIENCE_S = 300.0
_PROGRESS_S, _LOOK_S = 30.0, 0.01


@dataclass(slots=True)
class Storm:
    """One memory in `home`. What happened is in `errors`, `kills` and `lost_answers`."""

    home: Path
    clients: int
    writes: int
    kills_wanted: int
    chance: random.Random
    errors: list[str] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    lost_answers: int = 0
    written: int = 0

    async def rage(self) -> None:
        """Until all is written."""
        shares = [range(first, self.writes, self.clients) for first in range(self.clients)]
        writers = asyncio.gather(*(self._write(number, share) for number, share in enumerate(shares)))
        killer = asyncio.create_task(self._kill())
        try:
            await writers
        finally:
            killer.cancel()

    async def found(self) -> tuple[int, list[str]]:
        """How many facts there are in the end, and what is wrong with them."""
        await self._command("serve", "--stop")
        lines = (await self._command("facts", "export", "-")).splitlines()
        facts = [told for line in lines if (told := json.loads(line))["type"] == "fact"]
        held = {fact["content"]: fact["sources"] for fact in facts}
        wanted = {_text(number): [f"client {number % self.clients}"] for number in range(self.writes)}
        wrong = [f"lost: {text}" for text in wanted.keys() - held.keys()]
        wrong += [f"nobody wrote: {text}" for text in held.keys() - wanted.keys()]
        wrong += [f"not once: {text} {held[text]}" for text in wanted.keys() & held.keys() if held[text] != wanted[text]]
        return len(facts), wrong

    async def _write(self, number: int, share: range) -> None:
        left = list(reversed(share))
        while left:
            # Of one that was killed the protocol's own errors, and groups of them, tell no more than that.
            try:
                async with Client(self._server()) as client:
                    while left:
                        await self._put(client, number, left[-1])
                        left.pop()
            except Exception:  # noqa: BLE001
                self.lost_answers += 1

    async def _put(self, client: Client, number: int, write: int) -> None:
        told = {"text": _text(write), "source": f"client {number}"}
        result = await asyncio.wait_for(client.call_tool("remember", told), PATIENCE_S)
        if result.is_error:
            self.errors.append(str(result.content))
        self.written += 1

    async def _kill(self) -> None:
        # By what was written meanwhile and not by time: a busy machine would do nothing but start processes.
        between = self.writes / (self.kills_wanted + 1)
        for number in range(self.kills_wanted):
            due = (number + self.chance.uniform(0.5, 1.5)) * between
            while self.written < due:  # noqa: ASYNC110 - a writer that had to tell would be another one
                await asyncio.sleep(_LOOK_S)
            is_service = self.chance.random() < 0.5
            victims = self._service() if is_service else _servers()
            if victims:
                with suppress(psutil.NoSuchProcess):
                    self.chance.choice(victims).kill()
                    self.kills["service" if is_service else "client"] += 1

    def _service(self) -> list[psutil.Process]:
        found = list[psutil.Process]()
        for file in (self.home / "fleets" / "resident" / "run").glob("*.json"):
            with suppress(OSError, ValueError, psutil.NoSuchProcess):
                found.append(psutil.Process(int(json.loads(file.read_bytes())["pid"])))
        return found

    def _server(self) -> StdioServerParameters:
        return StdioServerParameters(
            command=sys.executable, args=["-m", "hive_mind", "mcp"], env=self._environment, cwd=self.home.parent
        )

    async def _command(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hive_mind", *arguments), env=self._environment, stdout=-1, stderr=-1
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode()

    @property
    def _environment(self) -> dict[str, str]:
        return os.environ | {"HIVE_MIND_HOME": str(self.home), "HIVE_MIND_EMBED": "none", "PYTHONPATH": ROOT}


def _text(number: int) -> str:
    return f"Valve {number} stands in hall {number % 97}."


def _servers() -> list[psutil.Process]:
    """The servers that clients of this process have started."""
    found = list[psutil.Process]()
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if child.cmdline()[-1:] == ["mcp"]:
                found.append(child)
    return found


async def _told(storm: Storm) -> Any:
    begun = time.monotonic()
    raging = asyncio.create_task(storm.rage())
    while not (await asyncio.wait([raging], timeout=_PROGRESS_S))[0]:
        print(f"{time.monotonic() - begun:.0f} s: {storm.written:,} written, {dict(storm.kills)}", flush=True)
    raging.result()
    took = time.monotonic() - begun
    facts, wrong = await storm.found()
    print(
        f"{storm.clients} clients, {storm.writes:,} writes in {took:.0f} s ({storm.writes / took:.0f}/s),"
        f" kills {dict(storm.kills)}"
    )
    print(f"{storm.lost_answers} answers lost, {len(storm.errors)} errors, {facts:,} facts, {len(wrong)} wrong")
    print(*(storm.errors + wrong)[:10], sep="\n")
    return not storm.errors and not wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--writes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--kills", type=int, default=100)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        guard = HomeGuard(home)
        storm = Storm(home, options.clients, options.writes, options.kills, random.Random(options.seed))
        is_well = asyncio.run(_told(storm))
        guard.release()
    sys.exit(not is_well)


if __name__ == "__main__":
    main()
