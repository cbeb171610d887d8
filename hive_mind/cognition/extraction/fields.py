"""Fields: lines of "key: value" or "key = value", laid out as the lists and sections that people read in them.

Keys set in below another stand under it, as in a list within a list: the level under "staging"; so do lines in braces. A line
right above fields is their title ("[mail]", "Line 12 to the harbour"), and where several groups of fields begin with the same
key, each is about its first value, and its name.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, takewhile

from hive_mind.cognition.extraction.separated import NAMES, log_line_of
from hive_mind.cognition.extraction.statements import SENTENCE_STOPS, is_statement
from hive_mind.regex import regex

_FIELD = regex(r"(?P<key>[^\s:=|#>*+\[-][^:=|]{0,40}?)\s{0,2}(?::\s+|：|=\s{0,2})(?P<value>[^\s=].*)")
# "celery[redis]>=5.3,<6"
_REQUIRED = regex(r"(?P<key>[\w.-]{1,60})(?:\[[\w,-]{1,60}\])?\s?[=~<>!]=\s?\d.*")
# "worker_connections 2048;"
_DIRECTIVE = regex(r"(?P<key>[a-z][a-z\d]{0,30}(?:[_-][a-z\d]{1,30}){1,6})\s+(?:[^\s{};]{1,100}|[^\s{};][^{};]{0,200};)")
_INLINE = regex(r"(?P<name>[^\s{}][^{}]{0,80}+)\{(?P<inside>[^{}]{1,300}+)\}")
_KEY_OR_FIELD = regex(r"(?:-\s+)?(?:\"[^\"]{1,60}\"|[^\s:=|#>*+\"-][^:=|\"]{0,60}):(?:\s+(?P<value>\S.*))?")
_SIGN = regex(r"[:：=]|[{(]\s{0,3}$")
_ITEM = regex(r"-\s+\S")
_SECTION = regex(r"\[{1,2}(?P<title>[^\[\]]{1,60})\]{1,2}")
_NO_TITLE = regex(r"[-*+•▪◦>|#`$/]|\d{1,3}[.)]\s")
_RULE = regex(r"-{3,}|={3,}")
_OPEN = ("{", "(")
_REMARK = regex(r"(?:--|//+|#+|/?\*+/?)\s*")
_GAP = regex(r"\s{2,}")
_REMARKED = regex(r"[;#]")
_FENCES = ("```", "~~~")
_NAMING_CHARS_MAX, _BELOW_MIN = 60, 2
# The same told in a sentence about it: "The default port is 4460.", "It defaults to 5."
_VALUE = r"[^\s.,;()](?:[^\s.,;()]|[.,](?=\S)){0,60}"
_DEFAULTING = regex(
    r"(?:\A|[.;(] ?)(?:(?:the|its|it|this) )?default(?:s to|(?: [a-z]{2,20}){0,2} is) "
    rf"(?P<value>(?!(?:not|that|to|the|an?)\b){_VALUE}(?: {_VALUE}){{0,2}}?)(?=[.,;)]| \(| and | which |\Z)",
    re.IGNORECASE,
)
SETTING_CHARS_MAX = 60
"""More are no name of a setting."""
_TITLE = "###### "
_ABOUT = frozenset((*NAMES, *"patient patiente paziente paciente пациент client customer employee candidate student".split()))


def is_field(line: str) -> bool:
    """Whether a line is a key with its value."""
    return key_of(line) != ""


def key_of(line: str) -> str:
    """The key that a line gives a value, "" for any other line."""
    text = line.strip().replace("**", "")
    match = _REQUIRED.fullmatch(text) or _FIELD.fullmatch(text)
    return match["key"] if match else ""


def setting_in(line: str) -> str:
    """The key of a field, or of a setting that has its value behind it alone; "" for any other line."""
    match = _DIRECTIVE.fullmatch(line.strip())
    return key_of(line) or (match["key"] if match else "")


def with_default(topic: str, name: str, text: str) -> str:
    """A topic with the value of the setting of this name, where a text about it tells one."""
    default = _DEFAULTING.search(text) if len(name) <= SETTING_CHARS_MAX and "(default" not in name else None
    return f"{topic} (default {default['value']})" if default else topic


def apart(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with fields that stand beside each other below each other: "Type: Bug   Priority: P1"."""
    for line in lines:
        parts = _GAP.split(line.strip()) if ":" in line else ()
        yield from parts if len(parts) > 1 and all(map(is_field, parts)) else (line,)


def laid_out(lines: Sequence[str]) -> Sequence[str]:
    """The lines, with keys within keys as items of lists, and titles of fields as headings."""
    # No field and no brace is without one of these, and most prose is without all.
    if not any(map(_SIGN.search, lines)) or any(line.lstrip().startswith(_FENCES) for line in lines):
        return lines
    if _is_outline(lines):
        return list(_as_items(lines))
    # Whether all lines that are not set in open a brace, close one, end a statement or remark on one.
    told = [line.rstrip() for line in lines if line.strip()]
    is_nested = any(line.endswith(_OPEN) and _indent(line) < _indent(below) for line, below in pairwise(told))
    if is_nested and all(line[0].isspace() or line.endswith((*_OPEN, ";", "}", ")")) or _REMARK.match(line) for line in told):
        return list(_in_braces(lines))
    return list(_titled(lines))


def _as_items(lines: Sequence[str]) -> Iterator[str]:
    """Each key as an item, and each remark behind the first one; all of them under the name of what they are about."""
    fields = (_FIELD.fullmatch(line.rstrip()) for line in lines)
    names = [match["value"] for match in fields if match and match["key"].casefold() in NAMES] or _named_below(lines)
    is_begun = False
    for line in lines:
        if not is_begun and _may_hang(line):
            yield from (f"{_TITLE}{name}" for name in names[:1])
            is_begun = True
        text = line.strip().lstrip("#").lstrip() if is_begun else ""
        # The items below a key are often set in no further.
        yield f" {line}" if _ITEM.match(text) or not text else f"{' ' * _indent(line)}- {text}"


def _named_below(lines: Sequence[str]) -> list[str]:
    """The name that a manifest has in its metadata."""
    texts = list(map(str.strip, lines))
    start = texts.index("metadata:") if "metadata:" in texts else len(texts)
    return [text.removeprefix("name: ") for text in texts[start:] if text.startswith("name: ")][:1]


def _may_hang(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#") and not _ITEM.match(text)


def _is_outline(lines: Sequence[str]) -> bool:
    """Whether all lines are keys or items, and some keys stand below another one."""
    told = [line.rstrip() for line in lines if _may_hang(line) or _ITEM.match(line.strip())]
    matches = [_KEY_OR_FIELD.fullmatch(line.strip()) for line in told]
    if not all(match or _ITEM.match(line.strip()) for match, line in zip(matches, told, strict=True)):
        return False
    return any(
        match and following and not match["value"] and following["value"] and _may_hang(line) and _indent(line) < _indent(below)
        for (match, line), (following, below) in pairwise(zip(matches, told, strict=True))
    )


def _in_braces(lines: Sequence[str]) -> Iterator[str]:
    """Each line as an item below the one that opens the brace around it."""
    for line in lines:
        text = line.strip()
        if (inline := _INLINE.fullmatch(text)) and inline["inside"].rstrip().endswith(";"):
            yield f"{' ' * _indent(line)}- {inline['name']}"
            yield from (
                f"{' ' * _indent(line)}  - {setting.strip()};" for setting in inline["inside"].split(";") if setting.strip()
            )
            continue
        remark = _REMARK.match(text)
        text = text[remark.end() if remark else 0 :].rstrip(" ={(")
        yield f"{' ' * _indent(line)}- {text}" if any(map(str.isalnum, text)) else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _titled(lines: Sequence[str]) -> Iterator[str]:
    groups = list(_groups(lines))
    keys = Counter(key_of(group[0]).casefold() for group in groups if _is_card(group))
    first = next((group for group in groups if group[0].strip()), [""])
    # All of the text is about whom or what its first field names, with a title above or without.
    is_headed = len(first) > 1 and _title(first[0], first[1 : 1 + _BELOW_MIN]) != ""
    about = first[is_headed].strip()
    key = key_of(about)
    is_about = key.casefold() in _ABOUT and sum(key_of(line) == key for line in lines) == 1
    if is_about and not is_headed:
        yield from (f"# {about}", "")
    for group in groups:
        if _is_card(group) and keys[key_of(group[0]).casefold()] > 1:
            yield from ("", f"{_TITLE}{_name_of(group)}", "")
        is_titled = False
        for place, line in enumerate(group):
            following = group[place + 1 : place + 1 + _BELOW_MIN]
            if (is_titled or not place or _REMARKED.match(group[place - 1])) and (title := _title(line, following)):
                is_titled = True
                if _SECTION.fullmatch(line.strip()):
                    title = ": ".join((title, *_names_in(group[place + 1 :])))
                elif is_about and group is first and not place:
                    title = f"{title}: {about}"
                yield from ("", f"{'# ' if group is first and not place else _TITLE}{title}", "")
                if title != line.strip() or not is_statement(line):
                    continue
            yield line


def _groups(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines without an empty one between them; a rule behind fields ends them."""
    for _, run in groupby(lines, key=lambda line: bool(line.strip())):
        group: list[str] = []
        for line in run:
            if _RULE.fullmatch(line.strip()) and _is_card(group[-_BELOW_MIN:]):
                yield group
                yield [""]
                group = []
            else:
                group.append(line)
        if group:
            yield group


def _is_card(lines: Sequence[str]) -> bool:
    return len(lines) >= _BELOW_MIN and all(map(is_field, lines))


def _name_of(group: Sequence[str]) -> str:
    """The first value of a group of fields, and its name."""
    values = [(match["key"].casefold(), match["value"]) for line in group if (match := _FIELD.fullmatch(line.strip()))]
    names = [value for key, value in values if key in NAMES][:1]
    return ": ".join(dict.fromkeys((values[0][1], *names)))


def _names_in(lines: Sequence[str]) -> list[str]:
    """The name that the fields right below a section give it."""
    fields = map(_FIELD.fullmatch, takewhile(is_field, lines))
    return [match["value"].strip("\"'") for match in fields if match and match["key"].strip().casefold() in NAMES][:1]


def _title(line: str, following: Sequence[str]) -> str:
    """The title in a line of fields, "" where it is none."""
    text = line.strip()
    if (section := _SECTION.fullmatch(text)) and following and "=" in following[0] and is_field(following[0]):
        return section["title"]
    is_plain = len(text) <= _NAMING_CHARS_MAX and not is_field(text) and not text.endswith((*SENTENCE_STOPS, ":", ",", ";"))
    if not text or not is_plain or _NO_TITLE.match(text) or line[0].isspace() or log_line_of(text):
        return ""
    return text if len(following) == _BELOW_MIN and all(map(is_field, following)) else ""
