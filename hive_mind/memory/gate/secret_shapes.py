"""Whether what is said of a password, a code or a key is one, by its shape and by how it is said.

A password may be a word of the language, where it is the last one and none that is said about passwords ("expired"). A code is
digits that count nothing. A key has letters and digits. A version, a date, a unit or the name of an algorithm has them too.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hive_mind.memory.gate import secret_words as words
from hive_mind.regex import regex

PLACEHOLDER = regex(r"[<${\[(*•.…_-].*|x{3,200}|\W{1,200}|(?:none|null|nil|true|false|n/a|todo)\W{0,3}", re.IGNORECASE)
_TECHNICAL = regex(words.TECHNICAL, re.IGNORECASE)
_DIGITS = regex(r"#?\d(?:[ -]?\d){2,11}(?![\d.,:/]\d|[a-z])")
_CODE = regex(r"(?=.*\d)(?:\d{3,8}[#*A-Z]|(?=.{4})\d{1,4}[A-ZА-Я]\d{1,5}|[\da-z]{4}-[\da-z]{4})")
_UNIT = regex(words.UNITS, re.IGNORECASE)
_HEXADECIMAL = regex(r"(?:[\dA-Fa-f]{2}[ :-]){7}")
_YEAR = regex(r"(?:19|20)\d\d")
_MARK_INSIDE = regex(r"[^\W_][^\s/!@#$%^&*~?+=|]*+[!@#$%^&*~?+=|][^\s/]*[^\W_]|[^\W\d]*+\d\w*+[!$]$")
_STRONG = regex(r"[^\W\d_]{3}[!@#$%&*_-]\d")
_DASHED_WORDS = regex(r"[a-z]+(?:-[a-z]+){3,8}")
# Chinese and Japanese have no spaces: a word of such letters is a sentence.
_SPACELESS = regex(r"[\u3040-\u30ff\u4e00-\u9fff]")
_FIELD = regex(r"[a-z]+(?:_[a-z]+)+\d?|[A-Z]{2,5}-\d{1,5}")
# "admin/admin123", "tester / Shop4tests", "ann@portal Spring!25"
_PAIR = regex(r"[\w.@-]{2,30}(?:\s?[/:]\s?(?=\S{0,60}\d)|\s(?=\S{0,60}[!#$%&*]))(?P<value>[^\s/]{4,60})")
_CONJUNCTION = regex(
    r"\s{0,2}(?:$|[,;(.!?)\]}]|(?:and|und|et|y|e|until|unless|if|till|but|since|bis|außer|jusqu|sauf|hasta|salvo|fino|até)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PossibleSecret:
    """A possible secret: how it is said, and the rest of the clause after it.

    `how` is "sign" (a colon or the like right behind the name), "far sign" (words in between), "is", "next" to the name, "to",
    "with", "before" the name, or "any" word of the clause.
    """

    value: str
    how: str
    rest: str = ""
    is_quoted: bool = False
    is_thing: bool = False
    """Whether what stands before it says that it names a thing: "the password for server12"."""

    @property
    def bare(self) -> str:
        """Without what ends a clause."""
        return self.value.rstrip(".,;:?)]}")


def _is_password(said: PossibleSecret, name: str) -> bool:
    value = said.bare
    if len(value) < 4 or _TECHNICAL.fullmatch(value):
        return False
    if said.how == "any":
        return "://" not in value and (
            _has_mark(value) or (not said.is_thing and _is_made(value) and not _FIELD.fullmatch(value))
        )
    if said.is_quoted:
        return value.lower() not in words.ORDINARY
    if value.isdecimal():
        return not _UNIT.match(said.rest) and (said.how != "to" or not _YEAR.fullmatch(value)) and said.how != "far sign"
    if name == "pass" and said.how != "sign":
        return said.how == "next" and _is_made(value)
    return _is_made(value) or _is_word(said, value) or _is_phrase(said, name)


def _is_word(said: PossibleSecret, value: str) -> bool:
    """Whether a word of the language is meant as a password: nothing follows it, and it says nothing about one."""
    plain = value.rstrip("!").lower()
    if plain in words.ORDINARY or said.how not in ("sign", "is", "with") or _SPACELESS.search(plain):
        return False
    is_last = bool(_CONJUNCTION.match(said.rest)) or value != said.value
    return said.how == "sign" or (is_last and plain.isalpha() and not plain.endswith(words.ADJECTIVES))


def _is_phrase(said: PossibleSecret, name: str) -> bool:
    """Three words and more that make no sentence."""
    spoken = re.findall(r"\w+", f"{said.value}{said.rest}".lower())
    if said.how not in ("sign", "is", "with") or not ("phrase" in name or said.how == "is") or not 3 <= len(spoken) <= 8:
        return False
    return not spoken[0].endswith(words.ADJECTIVES) and all(w.isalpha() and w not in words.FUNCTION_WORDS for w in spoken)


def _is_made(value: str) -> bool:
    """Letters and digits, or marks between letters, as nobody writes a word."""
    if _TECHNICAL.fullmatch(value) or _SPACELESS.search(value) or not any(c.isalpha() for c in value):
        return False
    return any(c.isdigit() for c in value) or bool(_MARK_INSIDE.fullmatch(value) or _DASHED_WORDS.fullmatch(value))


def _has_mark(value: str) -> bool:
    """Letters, digits and a mark among them: hardly anything but a password."""
    return bool(_MARK_INSIDE.fullmatch(value)) and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_code(said: PossibleSecret, name: str) -> bool:
    if said.how == "any":
        return False
    digits = _DIGITS.match(f"{said.value}{said.rest}")
    if digits is None:
        return bool(_CODE.fullmatch(said.bare.rstrip("!"))) or (said.is_quoted and _is_key(said, name))
    if _UNIT.match(f"{said.value}{said.rest}"[digits.end() :]) or (said.how == "to" and _YEAR.fullmatch(digits[0])):
        return False
    return sum(c.isdigit() for c in digits[0]) >= (3 if name.startswith(("cv", "comb", "komb")) else 4)


def _is_key(said: PossibleSecret, _: str) -> bool:
    value = said.bare.rstrip("!")
    if said.how == "any" or _TECHNICAL.fullmatch(value):
        return False
    if _HEXADECIMAL.match(f"{said.value}{said.rest}"):
        return True
    if said.is_quoted:
        return said.how == "sign" or (_is_made(value) and len(value) >= 6)
    if value.isdecimal():
        return len(value) >= 6 and said.how in ("sign", "is") and not _UNIT.match(said.rest)
    return len(value) >= 4 and _is_made(value) and not _FIELD.fullmatch(value) and (said.how == "sign" or len(value) >= 6)


def _is_login(said: PossibleSecret, _: str) -> bool:
    """A name and a password beside each other, or what one signs in with if no name of a thing is like it."""
    if said.how == "any":
        return len(said.bare) >= 8 and _has_mark(said.bare) and bool(re.search(r"[!$%&*~]", said.bare))
    pair = _PAIR.match(f"{said.value}{said.rest}")
    value = pair["value"].rstrip(".,;:?)]}") if pair else said.bare
    return _is_made(value) if pair else said.how == "with" and bool(_STRONG.search(value))


def _is_typed(said: PossibleSecret, name: str) -> bool:
    """Digits that are typed in somewhere: "Enter 7741 to disarm", "unlocks with 220488"."""
    digits = _DIGITS.match(f"{said.value}{said.rest}")
    if digits is None or said.how not in (("before", "next") if name.startswith(("ein", "tipp")) else ("next", "with", "is")):
        return False
    if _UNIT.match(f"{said.value}{said.rest}"[digits.end() :]) or _YEAR.fullmatch(digits[0]):
        return False
    return sum(c.isdigit() for c in digits[0]) >= 4


def _is_locks(said: PossibleSecret, name: str) -> bool:
    """ "Bike lock: 7193" """
    hows = ("sign", "with", "to") if name in words.LOCKS_WITH_DIGITS else ("sign", "with")
    return said.how in hows and _is_code(said, name)


LOOKS: Mapping[str, Callable[[PossibleSecret, str], bool]] = MappingProxyType(
    {
        "password": _is_password,
        "code": _is_code,
        "key": _is_key,
        "login": _is_login,
        "typed": _is_typed,
        "lock": _is_locks,
    }
)
"""For each kind of name (in lower case) what tells whether something is such a secret."""
