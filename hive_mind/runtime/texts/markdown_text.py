"""What Markdown shows: HTML that stands in it becomes its text, and comments go. Code keeps every character."""

import html
import re
from collections.abc import Iterator

from hive_mind.regex import regex

_FENCES = ("```", "~~~")
_SET_IN = ("    ", "\t")
# Splitting by a group alternates: what is between two pieces of code, a piece of code, what is between, …
_CODE = regex(r"(`[^`]{1,1000}`)")
_COMMENT = regex(r"<!--.{0,1000}?-->")
_TAG = regex(
    r"</?(?:a|abbr|b|big|center|cite|code|dd|del|details|div|dl|dt|em|font|h[1-6]|i|img|ins|kbd|li|mark|ol|p|picture|pre|q|s|samp|"
    r"small|source|span|strike|strong|sub|summary|sup|table|tbody|td|th|thead|tr|tt|u|ul|var|video)(?:\s[^<>]{0,1000})?/?>",
    re.IGNORECASE,
)
# With its end: "?a=1&copy=2" is an address.
_REFERENCE = regex(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BREAK = regex(r"<(?:br|hr)\s{0,100}/?>", re.IGNORECASE)


def shown_in_markdown(text: str) -> str:
    """The text without tags, character references and comments; its lines stay lines."""
    return "\n".join(_shown(text.split("\n"))) if "<" in text or "&" in text else text


def _shown(lines: list[str]) -> Iterator[str]:
    in_code = in_comment = False
    for line in lines:
        if in_comment:
            _, ended, line = line.partition("-->")
            in_comment = not ended
        elif line.lstrip().startswith(_FENCES):
            in_code = not in_code
        if in_code or line.startswith(_SET_IN):
            yield line
            continue
        line, opened, _ = _COMMENT.sub("", line).partition("<!--")
        in_comment = in_comment or bool(opened)
        yield "".join(piece if number % 2 else _text(piece) for number, piece in enumerate(_CODE.split(line)))


def _text(piece: str) -> str:
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), _TAG.sub("", _BREAK.sub(" ", piece)))
