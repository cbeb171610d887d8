"""Real files, spoiled by chance, go the whole way: read, extracted, judged at the gate, ranked, quoted, compared. Nothing raises.

`HIVE_FUZZ_S` says for how long (`make test-all`: ten minutes); without it 12 files are spoiled.
"""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind.runtime.texts import Document
from hive_mind.runtime.texts.text_files import document_in
from tests.chance import seed_of_this_run
from tests.laws.test_any_text import go_through
from tests.texts import DOCUMENTATION, documents

ROOT = Path(__file__).parents[2]
FILES_SPOILED = 12
# A page at a time: what is long is another law's.
CHARS_MAX = 6_000
SUFFIXES = (".md", ".txt", ".html", ".yaml", ".json", ".csv", ".log", ".rst", ".adoc", ".eml")
PIECES = (
    *(b"{}", b"[]", b"()", b": ", b":\n", b"\n\n", b"\n- ", b"\n  - ", b"\n```\n", b"\n~~~\n", b"|", b"\n|---|---|\n", b"---\n"),
    *(b"# ", b"> ", b"\xed\xa0\x80", b"\xff\xfe", b"\xef\xbb\xbf", b"\0", b"\x1b[31m", b"\xe2\x80\xae", b"\xc2\xad"),
    *(b"\xe2\x80\x8b", b"\xf0\x9f\x98\x80", b"&#64;", b"&#x110000;", b"&#99999999999;", b"<!--", b"-->", b"<td>", b"<a href='"),
    *(b"<script>", b"</", b"\\ud800", b"!!python/x ", b"Ana: ", b"[12:30] ", b"2024-02-30", b"not ", b" is ", b"7", b"1,"),
    *(b"\xd9\xa3", b"?", b"...", b"'", b'"', b"*", b"_", b"`", b"a@b.", b"="),
)


def spoiled(body: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """A part of a file with some of it lost, said twice, exchanged, or with something strange put in."""
    start = chance.randrange(max(1, len(body) - CHARS_MAX))
    text = bytearray(body[start : start + chance.randrange(1, CHARS_MAX)])
    for _ in range(chance.randrange(1, 30)):
        at = chance.randrange(len(text) + 1)
        length = chance.choice((1, 3, 20, 200))
        other = chance.choice(others)
        from_other = chance.randrange(max(1, len(other)))
        text[at : at + chance.choice((0, 0, length))] = chance.choice(
            (
                b"",
                chance.choice(PIECES) * chance.choice((1, 1, 2, 40)),
                bytes(text[at : at + length]) * 2,
                other[from_other : from_other + length],
                bytes([chance.randrange(256)]),
            )
        )
    return bytes(text[: 2 * CHARS_MAX])


def seeds() -> Iterator[int]:
    """For as long as is wanted."""
    first, end = seed_of_this_run(), time.monotonic() + float(os.environ.get("HIVE_FUZZ_S", "0"))
    for number in range(first, first + 10**9):
        if number >= first + FILES_SPOILED and time.monotonic() >= end:
            return
        yield number


@pytest.mark.data
@pytest.mark.timeout(1_500)
def test_no_spoiled_file_makes_anything_raise() -> None:
    own = [
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("manifests/*.yaml"),
        *ROOT.glob("tests/data/**/*.jsonl"),
        ROOT / "pyproject.toml",
    ]
    files = [path.read_bytes() for path in sorted(own)] + [text.encode() for tree in DOCUMENTATION for _, text in documents(tree)]
    for seed in seeds():
        chance = random.Random(seed)
        body = spoiled(chance.choice(files), files, chance)
        found = document_in(Path(f"a{chance.choice(SUFFIXES[:-1])}"), body)
        question = " ".join(body.decode("utf-8", "replace").split()[: chance.randrange(1, 12)])[:300]
        try:
            go_through(found.text if isinstance(found, Document) else body.decode("utf-8", "replace"), question)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
