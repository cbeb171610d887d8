"""Documents: read in a process of their own, to a text with what is missing from it, or to the reason why there is none.

The process has an end to its time and memory: any file may be made to harm its reader. It gets the bytes over its standard input
and opens no file for them; it may write none. It says what it read as JSON.

Which reader a file needs stands here, too: its beginning counts for more than its name, because people rename files. The
formats themselves are in `formats`.
"""

import json
import logging
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hive_mind.runtime.texts import CHARS_MAX, Document, Refused, Unreadable

if TYPE_CHECKING:
    from hive_mind.runtime.texts.formats import DocumentFormat


def known() -> "Mapping[str, DocumentFormat]":
    """All formats by name."""
    # Here, because many a process that could read a document reads none.
    from hive_mind.runtime.texts.formats import FORMATS

    return FORMATS


@cache
def suffixes() -> tuple[str, ...]:
    """How the names of documents end."""
    return tuple(suffix for format in known().values() for suffix in format.suffixes)


def format_of(path: Path, body: bytes) -> str | None:
    """The name of the format that a file has; None for one that is no document."""
    by_content = next((name for name, format in known().items() if format.is_one(body)), None)
    return by_content or next((name for name, format in known().items() if path.suffix.lower() in format.suffixes), None)


def is_installed(name: str) -> bool:
    """Whether the package that reads this format is there."""
    package = known()[name].package
    return not package or find_spec(package) is not None


if sys.platform != "win32":
    import resource

# A manual of 1,500 pages takes some 75 s. A small file that takes long was made to, so time goes by the size.
TIME_MAX_S = 120
_TIME_LEAST_S, _TIME_PER_MB_S = 20, 20
# Fonts and tables of large documents are unpacked in RAM.
MEMORY_MAX_BYTES = 1 << 30

_TOO_LONG = "takes more than {} s of work to read: split it, or save its text as a file of its own"
_TOO_MUCH = f"needs more than {MEMORY_MAX_BYTES >> 20} MB of memory to be read: split it, or save its text as a file of its own"
_TOO_MUCH_TEXT = f"holds more than {CHARS_MAX >> 20} million characters: split it"
# Of the current folder nothing takes the place of a package.
_CODE = f"import sys; sys.path.append({str(Path(__file__).parents[3])!r}); from {__name__} import main; main()"
# Of numpy, which openpyxl loads: each thread takes memory, and there are as many as cores.
_THREADS = {"OPENBLAS_NUM_THREADS": "1"}
_SPARE_S = 30


def time_max_s(size: int) -> int:
    """The work that reading a file of this size may take."""
    return min(TIME_MAX_S, _TIME_LEAST_S + _TIME_PER_MB_S * size // (1 << 20))


def read_apart(format: str, body: bytes) -> Document | Unreadable:
    """The text of a document, or why it can't be read. It waits for as long as reading takes, at most `time_max_s` of work."""
    # Here and not on top: the process that reads a document within a limit of memory imports this file.
    from hive_mind.runtime.settings import environment_with

    if not is_installed(format):
        from hive_mind.installation import command_for_extra

        return Unreadable(f"needs a reader that is not installed: {command_for_extra('readers')}")
    most_s = time_max_s(len(body))
    command = (sys.executable, "-P", "-c", _CODE, format, str(most_s))
    try:
        # Time that others take on a busy machine is not the document's.
        process = subprocess.run(  # noqa: S603
            command,
            input=body,
            capture_output=True,
            timeout=most_s * 2 + _SPARE_S,
            env=environment_with(_THREADS),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Unreadable(_TOO_LONG.format(most_s))
    if sys.platform != "win32" and process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return Unreadable(_TOO_LONG.format(most_s))
    if process.returncode:
        # A process that ends because it gets no memory says so last, by Python or by a library of numpy.
        return Unreadable(_TOO_MUCH if b"emory" in process.stderr else "can't be read: its reader failed")
    said = json.loads(process.stdout)
    return Unreadable(said["refused"]) if "refused" in said else Document(said["text"], said["left_out"])


def main() -> None:
    """The process: bytes in, what they say out."""
    _limit(int(sys.argv[2]))
    logging.disable()
    # Answers go where no library writes.
    out, sys.stdout = sys.stdout, sys.stderr
    json.dump(_said(sys.argv[1], sys.stdin.buffer.read()), out)


def _said(format: str, body: bytes) -> Mapping[str, object]:
    try:
        document = known()[format].read(body)
    except Refused as refused:
        return {"refused": str(refused)}
    except Exception as error:  # noqa: BLE001 - whatever a library makes of bytes that are no such document
        # A parser of XML says so in words. A library in C that gets no memory may fail without saying of what; and one that is
        # installed can be loaded, unless there is none.
        if isinstance(error, MemoryError | SystemError | ImportError) or re.search("out of memory|allocate memory", str(error)):
            return {"refused": _TOO_MUCH}
        return {"refused": f"is damaged or no {format.upper()} ({type(error).__name__})"}
    if len(document.text) > CHARS_MAX:
        return {"refused": _TOO_MUCH_TEXT}
    # Control characters are no text, and half a surrogate pair is no character.
    text = document.text.replace("\0", "").encode("utf-8", "replace").decode()
    return {"text": text, "left_out": dict(document.left_out)} if text.strip() else {"refused": "holds no text"}


def _limit(most_s: int) -> None:
    if sys.platform == "win32":
        return
    limits = ((resource.RLIMIT_CPU, most_s), (resource.RLIMIT_AS, MEMORY_MAX_BYTES))
    for kind, most in (*limits, (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (most, most))
