"""The folder of a run: its files, and how a run that was interrupted goes on.

    experiment.json  environment.json  cells/<id>/{rows.jsonl,times.jsonl,cell.json,notes.txt}

A cell with a `cell.json` is finished. Of one without it, whole lines count and half a line is cut off: a killed process leaves
at most that. Nothing is taken for granted about another experiment's folder: it is refused.

Its `environment.json` says where the run was made: facts a reader needs to judge its times, and to repeat it.
"""

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil

from hive_mind import __version__
from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments import CellReport, Experiment, Row, Timing
from hive_mind.evals.running import CELL, ENVIRONMENT, EXPERIMENT, NOTES, ROWS, TIMES, read_plain, report_in
from hive_mind.model.decoding import json_decoder
from hive_mind.retrieval import writable
from hive_mind.safe_files import is_half, try_lock, write_whole

# The means behind rows: in words, and the setting of each.
_MEANS = {
    "embedding": ("embeddings of", "--embed and --model"),
    "vector_index": ("vector index", "HIVE_MIND_ANN"),
    "language_model": ("language model", "HIVE_MIND_LLM"),
}

# The operating system releases it when its holder dies.
LOCK = ".lock"
_HELD_S, _LOOK_S = 60.0, 0.1

Line = TypeVar("Line", Row, Timing)
Pen = Callable[[Row, Timing], None]


def open_run(path: Path, experiment: Experiment, environment: dict[str, Any]) -> None:
    """Begin a run in an empty folder, or go on with the same experiment.

    Raises `InvalidInput` for any other folder, and for one that can't be written.
    """
    file = path / EXPERIMENT
    if file.exists():
        # Fields missing in an earlier run are as they were then: the default.
        fields_before = as_json(Experiment("", (), ())) | read_plain(path / EXPERIMENT)
        fields = as_json(experiment)
        different = sorted(key for key in {*fields_before, *fields} if fields_before.get(key) != fields.get(key))
        if different:
            raise InvalidInput(f"{path} holds a run of another experiment (other {', '.join(different)}); give another --out")
        _refuse_other_environment(path, read_plain(path / ENVIRONMENT), environment)
        return
    refuse_other_things(path)
    with writable(path):
        write_whole(path / ENVIRONMENT, _readable(environment))
        # Last, and whole or not at all: with it the folder is a run.
        write_whole(file, _readable(as_json(experiment)))


def refuse_other_things(path: Path) -> None:
    """Raises `InvalidInput` for a folder that is neither a run nor empty: its content has another owner."""
    # Another process may begin the same run there at this moment; one of them then goes on with what both have begun.
    names = {entry.name for entry in path.iterdir() if not is_half(entry)} if path.is_dir() else set()
    if path.is_file() or (EXPERIMENT not in names and names - {ENVIRONMENT}):
        raise InvalidInput(f"{path} is not empty and holds no run; give --out an empty folder, or one that need not exist yet")


def as_json(value: object) -> Any:
    """A value of ours as plain JSON; a path is text."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))


@dataclass(frozen=True, slots=True)
class CellFolder:
    """Records of one cell so far."""

    path: Path

    @classmethod
    def of(cls, run: Path, id: str) -> "CellFolder":
        return cls(run / "cells" / id)

    @property
    def notes(self) -> Path:
        """The file of what was remarked while it ran."""
        return self.path / NOTES

    def report(self) -> CellReport | None:
        """How it went; None while it is not finished. Raises `InvalidInput` for a damaged report."""
        return report_in(self.path)

    def answered(self) -> list[Row]:
        """The questions that need not be asked again. A half-written row is cut off."""
        rows, times = _whole_lines(self.path / ROWS, Row), _whole_lines(self.path / TIMES, Timing)
        count = min(len(rows), len(times))
        _cut(self.path / ROWS, count)
        _cut(self.path / TIMES, count)
        return rows[:count]

    def again(self) -> None:
        """Forget what was written, as for a cell that failed and is to be tried once more."""
        for name in (CELL, ROWS, TIMES, NOTES):
            (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """For this process alone: of a run that was killed, a process may be about to end. Raises `InvalidInput`."""
        with writable(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / LOCK).open("ab")
        until = time.monotonic() + _HELD_S
        with lock as file:
            while not try_lock(file):
                if time.monotonic() > until:
                    raise InvalidInput(f"another run is at work in {self.path}: wait until it has ended, or give another --out")
                time.sleep(_LOOK_S)
            yield

    @contextmanager
    def pen(self) -> Iterator["Pen"]:
        """Appends the results of one question, at once: whatever ends this process, they are there.

        Files without a buffer: a write refused by a full disk must not be tried again when they are closed. Raises `InvalidInput`
        where there is no room.
        """
        with writable(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            files = [FileIO(self.path / name, "ab") for name in (ROWS, TIMES)]

        def write(*lines: Row | Timing) -> None:
            for file, line in zip(files, lines, strict=True):
                body = msgspec.json.encode(line, order="deterministic") + b"\n"
                with writable(Path(str(file.name))):
                    # Where a disk is nearly full, less than all may be written, and the rest is what is refused.
                    while body:
                        body = body[file.write(body) :]

        with files[0], files[1]:
            yield write

    def finish(self, report: CellReport) -> None:
        """The cell is done, or has failed for good. Raises `InvalidInput` where that can't be written."""
        with writable(self.path):
            write_whole(self.path / CELL, _readable(msgspec.to_builtins(report)))


def _refuse_other_environment(path: Path, environment_before: dict[str, Any], now: dict[str, Any]) -> None:
    """Results over other documents, or of another model, can't stand beside these. Earlier runs did not write down all of it."""
    data_before, data = environment_before.get("data") or {}, now.get("data") or {}
    if names := sorted(name for name in data_before.keys() & data.keys() if data_before[name] != data[name]):
        raise InvalidInput(
            f"{path} was begun with other documents or questions than there are now ({', '.join(names)}); "
            "restore those of the run, or give another --out"
        )

    for means, (noun, setting) in _MEANS.items():
        if means in environment_before and environment_before[means] != now.get(means):
            before, after = (
                f"{noun} {name}" if name else f"no {noun.removesuffix(' of')}"
                for name in (environment_before[means], now.get(means))
            )
            raise InvalidInput(
                f"{path} was begun with {before} and this run has {after}; give {setting} of the run, or another --out"
            )


def _readable(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _whole_lines(path: Path, kind: type[Line]) -> list[Line]:
    """The lines up to the first that is half or damaged."""
    lines: list[Line] = []
    for line in _raw(path):
        try:
            lines.append(json_decoder(kind)(line))
        except msgspec.DecodeError:
            break
    return lines


def _raw(path: Path) -> Sequence[bytes]:
    body = path.read_bytes() if path.exists() else b""
    # Bytes after the last line break were not finished.
    return body.split(b"\n")[:-1]


def _cut(path: Path, lines: int) -> None:
    if path.exists():
        body = b"".join(line + b"\n" for line in _raw(path)[:lines])
        if len(body) != path.stat().st_size:
            with path.open("r+b") as file:
                file.truncate(len(body))


# Packages that affect figures or times. A version of genai-prices is a day's prices.
_LIBRARIES = (
    "numpy",
    "kuzu",
    "PyStemmer",
    "sentence-transformers",
    "torch",
    "numkong",
    "usearch",
    "redis",
    "pydantic-ai-slim",
    "genai-prices",
)
_SECRET_OPTIONS = ("key", "token", "credential", "password")


def environment_of(
    arguments: Sequence[str], means: Mapping[str, str], data: Mapping[str, str], absent: Sequence[str] = ()
) -> dict[str, Any]:
    """This machine and this program now.

    `means` are models and whatever else decides rows, "" for none; `data` are fingerprints of the data sets, and `absent` those
    that were left out.
    """
    return {
        "hive_mind": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cpus": psutil.cpu_count() or 0,
        # Over one, five and fifteen minutes before: whether anything else was going on.
        "load_average": [round(load, 2) for load in psutil.getloadavg()],
        "memory_bytes": psutil.virtual_memory().total,
        "libraries": {name: version for name in _LIBRARIES if (version := _version(name))},
        **means,
        "data": dict(data),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "argv": without_secrets(arguments),
        "absent": list(absent),
    }


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """The command line as it may be shown: without values of options that hold secrets, and what stands before an @ in a URL."""
    words: list[str] = []
    hides_next = False
    for argument in arguments:
        option, equals, _ = argument.partition("=")
        is_secret = option.startswith("--") and any(word in option.lower() for word in _SECRET_OPTIONS)
        scheme, separator, rest = argument.partition("://")
        shown = f"{scheme}://***@{rest.rpartition('@')[2]}" if separator and "@" in rest else argument
        words.append("***" if hides_next else f"{option}=***" if is_secret and equals else shown)
        hides_next = is_secret and not equals
    return words


def _cpu() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
