"""Somebody's Cypher, kept from doing anything but read the graph.

Three walls, any of which would do for most of it: words that write, or reach files and settings, are refused before Kuzu sees
them; the database is open for reading only; and while the query runs, the system lets this process open no file, and take only
so much more memory.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.regex import regex

if sys.platform != "win32":
    import resource

_CHARACTERS_MAX = 20_000
# Kuzu's parser takes exponentially long for some nestings and overflows its stack in others.
_DEPTH_MAX = 20
_MEMORY_BYTES = 1 << 30

# Strings, quoted names, comments, words, and single characters, as Kuzu reads them. What is quoted can't be a keyword; a letter
# beyond ASCII ends a word, in case Kuzu takes it for space.
_TOKEN = regex(
    r"""'(?:\\.|[^'\\])*+(?:'|\Z)|"(?:\\.|[^"\\])*+(?:"|\Z)|`[^`]*+(?:`|\Z)|//[^\n\r]*|/\*.*?(?:\*/|\Z)|[A-Za-z_]\w*|\S""",
    re.DOTALL | re.ASCII,
)
_CLOSED = regex(r"""'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+"|`[^`]*+`""", re.DOTALL)
_BEGINNINGS = frozenset({"MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN", "EXPLAIN", "PROFILE", "CALL"})
_WRITING = frozenset(
    "ALTER ANALYZE ATTACH BEGIN CHECKPOINT COMMENT COMMIT COPY CREATE DELETE DETACH DROP EXPORT EXTENSION FORCE IMPORT INSTALL "
    "LOAD MACRO MERGE REMOVE ROLLBACK SET TRANSACTION UNINSTALL UPDATE USE VACUUM".split()
)
_CALLABLE = frozenset({"SHOW_TABLES", "TABLE_INFO", "SHOW_FUNCTIONS", "DB_VERSION", "SHOW_CONNECTION"})


def checked(query: str, limit: int) -> str:
    """The query, with a limit of one more where it has none. Raises `InvalidInput` for one that does more than read."""
    if len(query) > _CHARACTERS_MAX:
        raise InvalidInput(f"this query has {len(query):,} characters: write one of up to {_CHARACTERS_MAX:,}")
    everything = _TOKEN.findall(query)
    if everything and _is_open(everything[-1]):
        raise InvalidInput(f"this query ends within what {everything[-1][:20]!r} begins: close the quotation or the comment")
    tokens = [token for token in everything if not token.startswith(("//", "/*"))]
    words = [token.upper() for token in tokens]
    while words and words[-1] == ";":
        words.pop()
    if not words or words[0] not in _BEGINNINGS:
        raise InvalidInput("a query of the graph begins with MATCH, UNWIND, WITH, RETURN or CALL: `hive-mind graph query --help`")
    if ";" in words:
        raise InvalidInput("this is more than one query: ask them one after another")
    if found := sorted(_WRITING.intersection(words)):
        raise InvalidInput(
            f"the graph is only read, and {found[0]} does more: leave it out (a name that is spelled so goes into backticks)"
        )
    for word, called in pairwise(words):
        if word == "CALL" and called not in _CALLABLE:
            raise InvalidInput(f"CALL {called.lower()} is not allowed here: only {', '.join(sorted(_CALLABLE)).lower()} are")
    return _limited(query.rstrip().rstrip(";"), words, limit)


def _is_open(token: str) -> bool:
    """Whether the end of the query is inside a quotation or a comment: what would then be a keyword is for Kuzu to say."""
    if token.startswith("/*"):
        return len(token) < 4 or not token.endswith("*/")
    return token[0] in "'\"`" and _CLOSED.fullmatch(token) is None


def _limited(query: str, words: list[str], limit: int) -> str:
    depth, last_return = 0, -1
    for number, word in enumerate(words):
        depth += (word in "([{") - (word in ")]}")
        if depth > _DEPTH_MAX:
            raise InvalidInput(f"this query is nested more than {_DEPTH_MAX} deep: write it flatter")
        if word == "RETURN" and not depth:
            last_return = number
    if last_return < 0 or "LIMIT" in words[last_return:] or "UNION" in words:
        return query
    # On a line of its own: the last one may end in a comment.
    return f"{query}\nLIMIT {limit + 1}"


@contextmanager
def confined() -> Iterator[None]:
    """While the block runs, this process can't open a file, write one, or take more than a gigabyte."""
    if sys.platform == "win32":
        yield
        return
    limits = {resource.RLIMIT_NOFILE: 0, resource.RLIMIT_FSIZE: 0}
    if sys.platform == "linux":
        limits[resource.RLIMIT_AS] = _address_space() + _MEMORY_BYTES
    former = {kind: resource.getrlimit(kind) for kind in limits}
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, former[kind][1]))
    try:
        yield
    finally:
        for kind, limit in former.items():
            resource.setrlimit(kind, limit)


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
