"""Does an answer hold a keyword? Whole words and whole numbers, whatever their case, spacing and typography.

    "42 bar"  is in  "at 42 bar.", "42bar", "a **42-bar** pump"      and not in  "142 bar", "3.42 bar", "-42 bar", "42 barrels"
    "D4"      is in  "valve D4, open", "d4"                          and not in  "D40", "D4.1", "ID4"
    "1200"    is in  "1,200 litres"                                  and not in  "1,200.5", "12005"

Nothing is stemmed and no synonym is known: the author of a label lists the wordings that will do.
"""

import re
from collections.abc import Iterable
from itertools import pairwise

from hive_mind.model.ids import UNSPACED, normal
from hive_mind.remembered import remembered

# A word or number; dots, colons and at signs inside of one hold it together: 75.1725, 192.168.1.45, 14:30, ann@example.org.
# A number takes no unit along. Signs stand alone where they mean something beside a word: 42 %, 5 °C, $12, C++, C#.
_TOKEN = re.compile(r"\d+(?:[.:]\d+)*(?=[^\W\d_]{2,}(?![\w.:@]*\d))|\w+(?:[.:@]\w+)*|[−%‰°€$£¥+#]")
# The separators allowed between two words, besides the keyword's own.
_BETWEEN = r"\s,'\"*_/()\[\]\-"
_BETWEEN_MAX = 4
# Without spaces a word has no edge.
_UNSPACED = re.compile(f"[{UNSPACED}]")

_TYPOGRAPHY = str.maketrans(dict.fromkeys("‐‑‒–—―", "-") | dict.fromkeys("‘’ʼ", "'") | dict.fromkeys("“”„«»", '"'))
# A dash in front of a number is its sign, unless it stands between two things.
_SIGN = re.compile(r"(?<![\w)\]%°.−-])-(?=\.?\d)")
_MINUS = "−"
_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
# 2025-05-02T14:30 is a day and a time.
_ISO_TIME = re.compile(r"(?<=\d\d)t(?=\d\d:\d\d)")


def holds_any(text: str, keywords: Iterable[str]) -> bool:
    """Whether a text holds one of them at least. Raises `ValueError` for a blank one, which every text would hold."""
    plain = _plain(text)
    return any(_pattern(keyword).search(plain) for keyword in keywords)


def holds_all(text: str, keywords: Iterable[str]) -> bool:
    plain = _plain(text)
    return all(_pattern(keyword).search(plain) for keyword in keywords)


@remembered(4096)
def _pattern(keyword: str) -> re.Pattern[str]:
    plain = _plain(keyword).strip()
    if not plain:
        raise ValueError("a keyword must have at least one character that can be seen")
    tokens = list(_TOKEN.finditer(plain))
    if not any(_is_word(token[0]) for token in tokens):
        return re.compile(re.escape(plain))
    parts = [re.escape(tokens[0][0])]
    for before, token in pairwise(tokens):
        parts += [_gap(before[0], plain[before.end() : token.start()], token[0]), re.escape(token[0])]
    return re.compile(_left_edge(tokens[0][0]) + "".join(parts) + _right_edge(tokens[-1][0]))


def _gap(before: str, stood: str, token: str) -> str:
    """Words need something between them; a number and its unit, or a sign and what it belongs to, do not."""
    if before == _MINUS and not stood:
        return ""
    is_measured = before[-1].isdigit() and token.isalpha() and before[0].isdigit()
    least = int(_is_word(before) and _is_word(token) and not is_measured)
    return f"[{_BETWEEN}{re.escape(stood)}]{{{least},{max(_BETWEEN_MAX, len(stood))}}}"


def _left_edge(token: str) -> str:
    if not _is_word(token) or _UNSPACED.match(token):
        return ""
    # A number goes on to the left behind a point ("3.42") or a colon ("14:30"), and is another one with a minus.
    further = rf"(?<!{_MINUS})(?<!\d[.,:])(?<!{_MINUS}\.)" if token[0].isdigit() else ""
    return r"(?<![^\W_])" + further


def _right_edge(token: str) -> str:
    if not _is_word(token) or _UNSPACED.match(token[-1]):
        return ""
    # A time goes on with seconds and an address with a port; of a bare number the colon makes a time.
    joints = "" if not token[-1].isdigit() else "[.,:]" if token.isdigit() else "[.,]"
    return r"(?![^\W_])" + (rf"(?!{joints}\d)" if joints else "")


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


def _plain(text: str) -> str:
    """Without case, typography, invisible characters and separators of thousands; a minus is distinguished from a dash."""
    if not text.isascii():
        # A minus is no hyphen here.
        text = _MINUS.join(map(normal, text.split(_MINUS))).translate(_TYPOGRAPHY)
    text = _ISO_TIME.sub(" ", _SIGN.sub(_MINUS, text.casefold()))
    return _THOUSANDS.sub(lambda number: number[0].replace(",", ""), text)
