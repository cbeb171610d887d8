"""Names computed from what they name, so that the same thing has the same name everywhere and without coordination.

A fact's id depends on its tenant and its text, and on nothing else: one content is one fact, from however many sources.

Texts are compared in one form, by the gate, by searches and by ids: the same letters look different to a program in another
width, in the digits of another script, with a hyphen that does not break or a soft one, or with marks between them that nobody
sees. What is kept and shown stays as it was written, and what a reader tells apart stays apart: 10² is not 102.
"""

import html
import re
import unicodedata
from collections.abc import Callable
from hashlib import blake2b

from hive_mind.regex import regex

HAN = "\u3005-\u3007\u303b\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
"""With the marks that repeat a letter or stand for one: 々, 〆, 〇. As all of these, ranges for the brackets of a pattern."""
KANA = "\u3040-\u30ff"
UNSPACED = f"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff{KANA}{HAN}\uac00-\ud7af"
"""Scripts written without spaces, or nearly so: with Hangul, and Thai, Lao, Burmese and Khmer, where a character is a letter."""

# Characters of a text are few; of all there are, a million, nobody may make us remember each.
_REMEMBERED_MAX = 1 << 14
# Hyphens and minus signs; longer dashes stand between words.
_HYPHENS = "\u2010\u2011\u2012\u2043\u2212\ufe63\uff0d"
# Within a code or a range, programs that set texts make one of these of a hyphen.
_JOINING_DASH = regex("[\u2010-\u2015\u2212](?<=\\w.)(?=\\w)")
# CSI and OSC of ECMA-48: colours, titles and links. One that does not end is no more than its first two characters. A backspace
# takes what it stands behind.
_CONTROLLED = regex(
    "[^\n]\x08|(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\\\)|\x1b[ -/]{0,4}[0-~]"
)
_TYPED_HYPHEN = regex("(?<=\\w)[\u2010-\u2013\u2212](?=\\w)|[\u2010\u2011]|(?<=\\d)[\u2014\u2015](?=\\d)")
# These two are seen between letters of scripts that join, and within a picture of several.
_JOINERS = "\u200c\u200d"
_UNJOINED = regex(
    "(?<![\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]"
)
# Not seen: controls but white space, fillers, the joiner of graphemes, selectors of a variant, tags.
_CONTROLS = "\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_MARKS = (
    f"{_CONTROLS}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
_UNSEEN, _UNSEEN_ASCII = regex(f"[{_MARKS}]"), regex(f"[{_CONTROLS}]")
# A model reads them, so they stay where an eye sees what they do: tags in the flag of a country's part, one selector behind a
# picture, a digit in a key, or a letter of Han or Mongolian.
_UNSEEN_OR_SEEN = regex(
    "(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f"
    "|(?<=[\xa9\xae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    f"|(?<=[{HAN}])[\ufe00-\ufe02\U000e0100-\U000e01ef]|(?<=[\u1820-\u18aa])[\u180b-\u180f])"
    f"|[{_MARKS}]"
)
_BLANK_PATTERN = "\u2800"
# Signs of a script that stand before a number and are seen.
_SEEN = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2"


def normal(text: str) -> str:
    """The text as it is compared with others. Doing it again changes nothing."""
    if text.isascii():
        return _UNSEEN_ASCII.sub("", text)
    return with_hyphens(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).translate(_FORMS)))


def shown(text: str) -> str:
    """The text as it is kept: what the eye sees, in the form that a keyboard types.

    Without colours of a terminal, controls and characters that nobody sees, but for those that change how others look, with
    letters for ligatures, and with plain quotes and hyphens.
    """
    if _UNSEEN_ASCII.search(text):
        text = _CONTROLLED.sub("", text)
    if text.isascii():
        return _UNSEEN_ASCII.sub("", text)
    text = unicodedata.normalize("NFC", text).translate(_SHOWN)
    # The look beforehand costs a tenth, and most texts have none.
    text = _UNSEEN_OR_SEEN.sub(r"\1", text) if _UNSEEN.search(text) else text
    return _TYPED_HYPHEN.sub("-", unicodedata.normalize("NFC", _UNJOINED.sub("", text)))


def with_hyphens(text: str) -> str:
    """A text with a plain hyphen for each dash that joins two letters or digits, as "CVE–2024" has one."""
    return _JOINING_DASH.sub("-", text)


class _Forms(dict[int, str]):
    """The form of each character, found out when it first comes."""

    def __init__(self, form: Callable[[str], str]) -> None:
        super().__init__()
        self._form = form

    def __missing__(self, code: int) -> str:
        form = self._form(chr(code))
        if len(self) < _REMEMBERED_MAX:
            self[code] = form
        return form


def _form(character: str) -> str:
    category = unicodedata.category(character)
    if (category == "Cf" and character not in _SEEN) or _UNSEEN.match(character):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if character in _HYPHENS:
        return "-"
    if category == "Zs" or character == _BLANK_PATTERN:
        return " "
    # A superscript or a fraction is another number; an accent by itself would become a space with an accent.
    return character if category in ("No", "Sk") else unicodedata.normalize("NFKC", character)


def _shown_form(character: str) -> str:
    if character in _TYPED:
        return _TYPED[character]
    is_unseen = unicodedata.category(character) == "Cf" and character not in _SEEN and character not in _JOINERS
    # Tags stay for now: flags of countries' parts are written with them.
    is_unseen = is_unseen and not "\U000e0020" <= character <= "\U000e007f"
    is_ligature = "\ufb00" <= character <= "\ufb06"
    return "" if is_unseen else unicodedata.normalize("NFKC", character) if is_ligature else character


_TYPED = dict(zip("‘’‚‛“”„‟", "''''\"\"\"\"", strict=True))
_FORMS, _SHOWN = _Forms(_form), _Forms(_shown_form)

_WITHIN_WORDS = (
    "a abbr b bdi bdo big cite code del em font i ins kbd mark nobr q s samp small span strike strong sub sup tt u var wbr"
)
_BETWEEN_WORDS = (
    "address article aside blockquote body br caption center col dd details div dl dt figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 "
    "header hr html img input label li main nav ol option p picture pre section select source summary table tbody td "
    "th thead tr ul "
    "video"
)
_INLINE, _TAGS = frozenset(_WITHIN_WORDS.split()), frozenset(f"{_WITHIN_WORDS} {_BETWEEN_WORDS}".split())
_TAG = regex(r"</?([A-Za-z][A-Za-z0-9]*+)(?=[\s/>])[^<>]*+>")
# With its end, or a number: "?a=1&copy=2" is an address.
_REFERENCE = regex(r"&(?:#\d{1,7}(?!\d);?|#[xX][0-9a-fA-F]{1,6}(?![0-9a-fA-F]);?|[A-Za-z][A-Za-z0-9]{1,31};)")


def without_tags(text: str) -> str:
    """Text with HTML in it as a page shows it: without tags, and with what character references stand for."""
    if "<" in text:
        text = _TAG.sub(_shown_for_tag, text)
    return _REFERENCE.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def _shown_for_tag(match: re.Match[str]) -> str:
    name = match[1].lower()
    return "" if name in _INLINE else " " if name in _TAGS else match[0]


def without_comments(text: str) -> tuple[str, bool]:
    """Text with HTML in it without comments, and whether one goes on behind it."""
    pieces: list[str] = []
    at = 0
    while (begin := text.find("<!--", at)) >= 0:
        pieces.append(text[at:begin])
        end = text.find("-->", begin + 4)
        if end < 0:
            return "".join(pieces), True
        at = end + 3
    return "".join([*pieces, text[at:]]), False


DEFAULT_TENANT = "default"
ID_CHARACTERS = 32
_HEX = frozenset("0123456789abcdef")
PREFIX_CHARACTERS_MIN = 6
"""How much of an id a person gives at least."""


def canonical(text: str) -> str:
    """The text as it is compared: Unicode NFC, runs of white space as one space, none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def fact_id(content: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits: BLAKE2b-128 of tenant and canonical content."""
    return _digest("fact", tenant, canonical(content))


def is_id(text: str) -> bool:
    return len(text) == ID_CHARACTERS and _HEX.issuperset(text)


def episode_id(text: str, source: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits. An episode is what one source said: the same text from another source is another episode."""
    return _digest("episode", tenant, source, text)


def entity_id(name: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits; letter case and white space do not make another entity."""
    return _digest("entity", tenant, canonical(name).casefold())


def item_id(kind: str, subject: str, case_digest: str) -> str:
    """32 hexadecimal digits: an item that waits for a person is one, however often and by whichever agent it is asked."""
    return _digest("item", kind, subject, case_digest)


def judgment_id(goal: str, case_digest: str, iteration: int) -> str:
    """32 hexadecimal digits: the same result judged again in the same turn is one judgement."""
    return _digest("judgment", goal, case_digest, str(iteration))


def erasure_digest(kind: str, name: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits: the item to be forgotten, without its name."""
    return _digest("erasure", tenant, kind, name)


def source_digest(source: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits: a source, without its name."""
    return _digest("source", tenant, source)


def vector_key(model: str, text: str) -> str:
    """Where the embedding of `text` by `model` is cached: 32 hexadecimal digits."""
    return _digest("vector", model, text)


def _digest(*parts: str) -> str:
    framed = b""
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        framed += len(encoded).to_bytes(8, "big") + encoded
    return blake2b(framed, digest_size=16).hexdigest()
