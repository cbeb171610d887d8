"""Stanzas: lines that belong to the line above them, laid out as the items below an item that people read in them.

Settings of many tools have no sign between a key and its value, and are set in below what they are for: "Port 2202" under "Host
bastion". An image is built in stages, and each instruction belongs to one. The name below a letter belongs to its last words.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from hive_mind.regex import regex

_KEYED = regex(r"[^\W\d_][\w.-]{0,40}(?:\s+[^\s:=|]{1,80}){1,7}")
_NO_HEAD = (".", "!", "?", ":", ";", ",", "{", "(", "[", "\\")
_MARKED = regex(r"[-*+•|#>`~$/]|\d{1,3}[.)]\s")
_SET_IN_MIN = 2
_STAGE = regex(r"FROM\s+\S+.*")
_INSTRUCTION = regex(
    r"(?:FROM|ARG|RUN|CMD|LABEL|MAINTAINER|EXPOSE|ENV|ADD|COPY|ENTRYPOINT|VOLUME|USER|WORKDIR|ONBUILD|STOPSIGNAL|HEALTHCHECK|SHELL)"
    r"\s+\S.*"
)
_GOES_ON = "\\"
# The last words of a letter, by the word for it in their language.
_CLOSINGS = {
    "letter": r"yours(?: sincerely| faithfully| truly| ever)?|sincerely(?: yours)?|(?:all the )?best|cheers|"
    r"(?:with |lots of |much )?love|(?:with )?(?:(?:kind|best|warm|many)(?:est)? )?(?:regards|wishes|greetings)",
    "Brief": r"(?:mit )?(?:(?:freundliche|beste|herzliche|liebe|viele|schöne)n? )?gr(?:ü|ue)(?:ß|ss)en?|hochachtungsvoll|mfg",
    "lettre": r"(?:bien )?cordialement|(?:avec )?(?:mes )?(?:sincères|meilleures) salutations|amicalement|bien à vous|bises",
    "carta": r"(?:un )?(?:cordial )?saludos?|atentamente|un abrazo|atenciosamente|(?:com os melhores )?cumprimentos|abraços?",
    "lettera": r"(?:cordiali|distinti) saluti|cordialmente|un (?:caro )?saluto|un abbraccio",
    "brief": r"(?:met )?(?:vriendelijke |hartelijke )?groet(?:en|jes)?",
    "list": r"z poważaniem|(?:serdecznie )?pozdrawiam(?: serdecznie)?",
    "brev": r"(?:med )?(?:vänliga?|venlig|vennlig|bästa|bedste) hils(?:en|ning(?:ar)?)|hälsningar|mvh",
    "письмо": r"с уважением|с наилучшими пожеланиями",
}
_CLOSING = regex(rf"(?:{'|'.join(_CLOSINGS.values())})[,.!]?", re.IGNORECASE)
_SIGNED = {
    word: regex(rf"(?:{closing})[,.!]?\s+(?-i:(?=[^\W\d_a-z]))(?:[\w.'’&,-]+\s?){{1,9}}", re.IGNORECASE)
    for word, closing in _CLOSINGS.items()
}
_NAME = regex(r"(?![a-z])[^\W\d_][^:;!?@/\d]{0,59}")
_NAME_WORDS_MAX, _SIGNATURE_LINES_MAX, _SIGNATURE_CHARS_MAX = 6, 2, 160


def signed_in(text: str) -> str:
    """The word for what a text signs, "" where it is no signature: "letter" for "Yours sincerely, Ana Lopes"."""
    if len(text) > _SIGNATURE_CHARS_MAX:
        return ""
    return next((word for word, signed in _SIGNED.items() if signed.fullmatch(text)), "")


def with_stanzas(lines: Sequence[str]) -> Sequence[str]:
    """The lines, with those that belong to another as items below it, and a name behind the last words of its letter."""
    if is_image(lines):
        return list(_stages(lines))
    return list(_set_in(list(_signatures(lines))))


def is_image(lines: Sequence[str]) -> bool:
    """Whether all lines are instructions of how to build an image, in a stage or more."""
    told = [line for line, above in zip(lines, ("", *lines), strict=False) if line.strip() and not above.endswith(_GOES_ON)]
    told = [line for line in told if not line.startswith("#")]
    return any(map(_STAGE.fullmatch, told)) and all(map(_INSTRUCTION.fullmatch, told))


def _stages(lines: Sequence[str]) -> Iterator[str]:
    is_begun, instruction = False, list[str]()
    for line in map(str.strip, lines):
        instruction.append(line if instruction or not line.startswith("#") else line.lstrip("# "))
        if line.endswith(_GOES_ON):
            continue
        text, is_stage = " ".join(filter(None, instruction)), _STAGE.fullmatch(instruction[0]) is not None
        instruction = []
        yield f"{'  ' * (is_begun and not is_stage)}- {text}" if text else ""
        is_begun = is_begun or is_stage
    yield " ".join(instruction)


def _set_in(lines: Sequence[str]) -> Iterator[str]:
    """Keys with values that are set in below a line become items below it."""
    for has_words, run in groupby(lines, key=lambda line: bool(line.strip())):
        paragraph = list(run)
        head, *below = paragraph
        if has_words and _is_stanza(head, below):
            yield f"- {head.strip()}"
            yield from (f"  - {line.strip()}" for line in below)
        else:
            yield from paragraph


def _is_stanza(head: str, below: Sequence[str]) -> bool:
    if len(below) < _SET_IN_MIN or head[0].isspace() or head.rstrip().endswith(_NO_HEAD) or not _KEYED.fullmatch(head.strip()):
        return False
    depths = {len(line) - len(line.lstrip()) for line in below}
    return len(depths) == 1 and 0 not in depths and all(_is_setting(line.strip()) for line in below)


def _is_setting(text: str) -> bool:
    return _KEYED.fullmatch(text) is not None and not text.endswith(_NO_HEAD) and not _MARKED.match(text)


def _signatures(lines: Sequence[str]) -> Iterator[str]:
    """Last words of a letter and the name below them as one line."""
    place = 0
    while place < len(lines):
        closing = lines[place].strip()
        name_at = place + 1 + (place + 1 < len(lines) and not lines[place + 1].strip())
        names = [line.strip() for line in lines[name_at : name_at + _SIGNATURE_LINES_MAX]]
        if _CLOSING.fullmatch(closing) and names and _is_name(names[0]):
            further = names[1:] if len(names) > 1 and _is_name(names[1]) else []
            yield from ("", " ".join((closing, names[0], *further)), "")
            place = name_at + 1 + len(further)
        else:
            yield lines[place]
            place += 1


def _is_name(line: str) -> bool:
    return _NAME.fullmatch(line) is not None and len(line.split()) <= _NAME_WORDS_MAX and not line.endswith((".", ","))
