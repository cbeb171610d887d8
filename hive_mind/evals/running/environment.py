"""The place a run was made: facts a reader needs to judge its times, and to repeat it."""

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from hive_mind import __version__

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
    shown: list[str] = []
    hides_next = False
    for argument in arguments:
        option, equals, _ = argument.partition("=")
        is_secret = option.startswith("--") and any(word in option.lower() for word in _SECRET_OPTIONS)
        shown.append("***" if hides_next else f"{option}=***" if is_secret and equals else _without_login(argument))
        hides_next = is_secret and not equals
    return shown


def _without_login(argument: str) -> str:
    scheme, found, rest = argument.partition("://")
    return f"{scheme}://***@{rest.rpartition('@')[2]}" if found and "@" in rest else argument


def _cpu() -> str:
    """The processor's name; Python does not know it on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
