"""The frame of a benchmark: its options, how work is timed, SQLite as a yardstick, and rows as a table or as JSON.

CPU time where our own work counts, wall time where a disk or a broker is waited for.
"""

import argparse
import asyncio
import ctypes
import gc
import json
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np
import psutil

Row = dict[str, str | float]
T = TypeVar("T")

_SHARED: Mapping[str, Mapping[str, Any]] = {
    "data": {"type": Path, "required": True, "help": "folder with *.corpus.jsonl and locomo/"},
    "cache": {"type": Path, "required": True, "help": "folder for the embeddings, outside the repository"},
    "scratch": {"type": Path, "required": True, "help": "folder for the documents, outside the repository"},
    "json": {"type": Path, "help": "also write the rows here"},
    "output": {"choices": ("table", "json"), "default": "table"},
}


def parser_of(about: str | None, *shared: str, **counts: int) -> argparse.ArgumentParser:
    """With these of the options that several benchmarks have, and numbers with what they are where nobody says."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in shared:
        parser.add_argument(f"--{name}", **_SHARED[name])
    for name, count in counts.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=count, help=f"instead of {count:,}")
    return parser


def shown(about: str | None, measured: Callable[..., Coroutine[Any, Any, Sequence[Row]]], **counts: int) -> None:
    """All of a benchmark whose options are numbers: measured with them in a new folder."""
    options = vars(parser_of(about, "output", **counts).parse_args())
    output = options.pop("output")
    with tempfile.TemporaryDirectory() as folder:
        show(asyncio.run(measured(Path(folder), **options)), output)


def figure(what: str, value: float, unit: str) -> Row:
    return {"what": what, "value": value, "unit": unit}


def latency(what: str, times_ms: Sequence[float]) -> list[Row]:
    ordered = sorted(times_ms)
    return [figure(f"{what}, p50", median(ordered), "ms"), figure(f"{what}, p99", ordered[int(len(ordered) * 0.99)], "ms")]


def p50_p95(times_ms: Sequence[float]) -> Row:
    p50, p95 = np.quantile(times_ms, [0.5, 0.95]).tolist()
    return {"p50_ms": p50, "p95_ms": p95}


def show(rows: Sequence[Row], output: str = "table") -> None:
    """Figures as JSON, or a line for each: its name, value and unit."""
    if output == "json":
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    width = max((len(str(row.get("what"))) for row in rows), default=0)
    for row in rows:
        print(f"{row['what']:<{width}} {row['value']:>12,.2f} {row['unit']}", flush=True)


def told(rows: Iterable[Mapping[str, Any] | Any], file: Path | None = None) -> None:
    """Each row, a mapping or a dataclass, as a line as soon as it is there; all of them as JSON, where somebody asked for it."""
    plain = []
    for row in rows:
        plain.append(dict(row) if isinstance(row, Mapping) else asdict(row))
        tell(plain[-1])
    write(file, plain)


def tell(row: Mapping[str, object]) -> None:
    """A row as a line, at once: text as it is, figures behind their names."""
    figures = (f"{name} {number(value)}" for name, value in row.items() if isinstance(value, int | float | list | tuple))
    print(" ".join(str(value) for value in row.values() if isinstance(value, str)), *figures, sep="   ", flush=True)


def number(value: Any) -> str:
    """Three digits, as people write them; of several figures, each so."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(number, value))}]"
    if isinstance(value, str):
        return value
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):.6f}".rstrip("0").rstrip(".")


def write(file: Path | None, rows: object) -> None:
    """As JSON, where somebody asked for it."""
    if file:
        file.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


def cpu_times_ms(work: Callable[[T], object], each: Iterable[T]) -> list[float]:
    """Of each call, of the whole process."""
    return _times_ms(work, each, time.process_time_ns)


def cpu_ms(work: Callable[[T], object], each: Iterable[T]) -> float:
    """The median of a call, of the whole process."""
    return median(cpu_times_ms(work, each))


def wall_times_ms(work: Callable[[T], object], each: Iterable[T]) -> list[float]:
    """Of each call."""
    return _times_ms(work, each, time.perf_counter_ns)


def wall_ms(work: Callable[[T], object], each: Iterable[T]) -> float:
    """The median of a call."""
    return median(wall_times_ms(work, each))


def _times_ms(work: Callable[[T], object], each: Iterable[T], clock: Callable[[], int]) -> list[float]:
    times = []
    for subject in each:
        began = clock()
        work(subject)
        times.append((clock() - began) / 1e6)
    return times


async def waits_ms(
    work: Callable[[T], Awaitable[object]], each: Iterable[T], clock: Callable[[], int] = time.perf_counter_ns
) -> list[float]:
    """Of each, one after another."""
    times = []
    for subject in each:
        began = clock()
        await work(subject)
        times.append((clock() - began) / 1e6)
    return times


async def seconds(work: Awaitable[object], clock: Callable[[], float] = time.perf_counter) -> float:
    began_s = clock()
    await work
    return clock() - began_s


async def batched_per_s(work: Callable[[Sequence[T]], Awaitable[object]], things: Sequence[T], batch: int = 100) -> float:
    """How many a second where each call takes a batch of them, one call after another."""
    batches = [things[first : first + batch] for first in range(0, len(things), batch)]
    return len(things) / (sum(await waits_ms(work, batches)) / 1e3)


def json_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def durable_sqlite(path: Path, table: str) -> sqlite3.Connection:
    """As it comes, with a commit on disk when it returns: times of a disk say nothing without it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"CREATE TABLE {table}")
    return connection


def insert_ms(folder: Path, table: str, rows: Sequence[tuple[Any, ...]]) -> float:
    """The median of a durable insert of one row."""
    insert = f"INSERT INTO {table.partition('(')[0]} VALUES ({', '.join('?' * len(rows[0]))})"  # noqa: S608 - our own words
    with closing(durable_sqlite(folder / "yardstick.sqlite", table)) as connection:
        return wall_ms(lambda row: connection.execute(insert, row), rows)


def own_mb() -> float:
    """What this process alone holds in RAM, after giving back what is free."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return float(psutil.Process().memory_full_info().uss) / 1e6
