"""Source code and settings of other languages as notes: what comments say, with the lines that they stand above.

Only comments are known, by their marks; the code below stays as it is. A section of a file of settings is a heading for its keys.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import groupby

from hive_mind.regex import regex

_HASH, _SLASHES, _DASHES = (
    regex(r"(?:#{1,8}|;{1,8}|//)!?\s?(?P<said>.*)"),
    regex(r"(?://[/!]{0,8}|/\*{1,8}|\*/|\*(?!\S))\s?(?P<said>.*)"),
    regex(r"--\s?(?P<said>.*)"),
)
_SETTINGS = ".toml .ini .cfg .conf .env .properties".split()
_MARKS = {
    **dict.fromkeys((*".sh .bash .zsh .rb .pl .r .jl .mk .tf .ps1".split(), *_SETTINGS), _HASH),
    **dict.fromkeys(
        ".js .mjs .ts .jsx .tsx .go .rs .java .kt .c .h .cc .cpp .hpp .cs .swift .scala .php .dart .css".split(), _SLASHES
    ),
    **dict.fromkeys(".sql .lua .hs".split(), _DASHES),
}
_SECTION = regex(r"\[{1,2}(?P<name>[^\[\]]{1,80})\]{1,2}")
# "----" above and below a title.
_RULE = regex(r"[\W_]*+")


class _Kind(Enum):
    BLANK = "blank"
    COMMENT = "comment"
    SECTION = "section"
    CODE = "code"


def is_source(suffix: str) -> bool:
    return suffix in _MARKS


def text_of_source(source: str, suffix: str) -> str:
    """Comments as paragraphs; those right above code end with a colon, which brings the code."""
    is_settings = suffix in _SETTINGS
    lines = source.splitlines()
    runs = [
        (kind, [line for line, _ in run])
        for kind, run in groupby(zip(lines, _kinds(lines, suffix), strict=True), key=lambda pair: pair[1])
    ]
    written: list[str] = []
    for number, (kind, run) in enumerate(runs):
        follows_code = number + 1 < len(runs) and runs[number + 1][0] is _Kind.CODE
        if kind is _Kind.COMMENT:
            written += [_comment(run, suffix, is_lead=follows_code), ""]
        elif kind is _Kind.SECTION:
            written += [f"## {match['name']}\n" for line in run if (match := _SECTION.fullmatch(line.strip()))]
        elif kind is _Kind.CODE and is_settings:
            written += [f"{line.strip()}\n" for line in run]
        elif kind is _Kind.CODE:
            written += ["```", *run, "```", ""]
    return "\n".join(written).strip("\n") + "\n"


def _kinds(lines: Sequence[str], suffix: str) -> Iterator[_Kind]:
    marks, is_within = _MARKS[suffix], False
    for number, line in enumerate(lines):
        begins = marks is _SLASHES and line.lstrip().startswith("/*")
        if not line.strip() and not is_within:
            yield _Kind.BLANK
        elif begins or is_within:
            is_within = "*/" not in line
            yield _Kind.COMMENT
        elif number == 0 and line.startswith("#!"):
            yield _Kind.BLANK
        elif marks.fullmatch(line.strip()) and not (marks is _SLASHES and line.lstrip().startswith("*")):
            yield _Kind.COMMENT
        else:
            yield _Kind.SECTION if suffix in _SETTINGS and _SECTION.fullmatch(line.strip()) else _Kind.CODE


def _comment(run: Sequence[str], suffix: str, *, is_lead: bool) -> str:
    matches = ((line, _MARKS[suffix].fullmatch(line.strip())) for line in run)
    said = [(match["said"] if match else line).strip().removesuffix("*/").strip() for line, match in matches]
    text = " ".join(line for line in said if not _RULE.fullmatch(line))
    return f"{text.rstrip('.:')}:" if is_lead and text else text
