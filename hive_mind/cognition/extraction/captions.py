"""Captions: transcripts with times, WebVTT and SubRip, as who said what.

They are cut to the width of a screen, so those of one speaker are joined again; their times are places on a tape and go.
"""

import html
from collections.abc import Iterator

from hive_mind.regex import regex

_HEAD_CHARS_MAX = 1_000
_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMES = regex(rf"\A\s*{_TIME}\s*-->\s*{_TIME}\b.*")
_VOICE = regex(r"<v(?:\.[^\s>]{0,40})?\s+(?P<who>[^>]{1,60})>")
_TAG = regex(r"</?[^<>]{0,80}>")
# ">> ANA:" of broadcasters, "- " before a change of speaker.
_NAMED = regex(r"(?:>>\s*|-\s+)?(?P<who>[^\W\d_][\w .'’-]{0,40}):\s+(?P<said>\S.*)")


def are_captions(text: str) -> bool:
    """Whether a text begins as captions do: with its name and a time, or with the first number and a time."""
    lines = [*text.lstrip()[:_HEAD_CHARS_MAX].splitlines(), ""]
    is_numbered = lines[0].strip().isdecimal() and _TIMES.fullmatch("".join(lines[1:2])) is not None
    return is_numbered or (lines[0].startswith("WEBVTT") and any(map(_TIMES.fullmatch, lines)))


def text_of_captions(text: str) -> str:
    """A paragraph for each turn, with its speaker where the captions name one."""
    turns: list[tuple[str, list[str]]] = []
    for who, said in _said(text.splitlines()):
        if turns and who in (turns[-1][0], ""):
            # Captions that roll up show a line again.
            if said != turns[-1][1][-1]:
                turns[-1][1].append(said)
        else:
            turns.append((who, [said]))
    return "\n\n".join(f"{who}: {' '.join(said)}" if who else " ".join(said) for who, said in turns) + "\n"


def _said(lines: list[str]) -> Iterator[tuple[str, str]]:
    is_caption = False
    for place, line in enumerate(lines):
        if _TIMES.fullmatch(line):
            is_caption = True
        elif not line.strip():
            is_caption = False
        elif is_caption:
            # The number of the next caption may follow without a line between.
            if line.strip().isdecimal() and place + 1 < len(lines) and _TIMES.fullmatch(lines[place + 1]):
                continue
            yield from _spoken(line)


def _spoken(line: str) -> Iterator[tuple[str, str]]:
    voice = _VOICE.search(line)
    said = " ".join(html.unescape(_TAG.sub("", line)).split())
    named = None if voice else _NAMED.fullmatch(said)
    who = voice["who"].strip() if voice else named["who"].strip() if named else ""
    said = named["said"] if named else said
    if said:
        yield who, said
