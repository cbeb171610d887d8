"""Secrets that a sentence tells: "the password of the portal is Summer2024!", "Der Türcode lautet 4711".

First what a secret is called, then what the same clause says of it: behind "is", a colon or "changed to", right behind the name,
or before it ("4711 is the PIN"). Its shape and how it is said decide whether that is one. Every clause is bounded, so a text
costs time in proportion to its length.
"""

import re
from collections.abc import Callable, Iterator, Mapping
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


def _is_password(secret: PossibleSecret, name: str) -> bool:
    value = secret.bare
    if len(value) < 4 or _TECHNICAL.fullmatch(value):
        return False
    if secret.how == "any":
        return "://" not in value and (
            _has_mark(value) or (not secret.is_thing and _is_made(value) and not _FIELD.fullmatch(value))
        )
    if secret.is_quoted:
        return value.lower() not in words.ORDINARY
    if value.isdecimal():
        return not _UNIT.match(secret.rest) and (secret.how != "to" or not _YEAR.fullmatch(value)) and secret.how != "far sign"
    if name == "pass" and secret.how != "sign":
        return secret.how == "next" and _is_made(value)
    return _is_made(value) or _is_word(secret, value) or _is_phrase(secret, name)


def _is_word(secret: PossibleSecret, value: str) -> bool:
    """Whether a word of the language is meant as a password: nothing follows it, and it says nothing about one."""
    plain = value.rstrip("!").lower()
    if plain in words.ORDINARY or secret.how not in ("sign", "is", "with") or _SPACELESS.search(plain):
        return False
    is_last = bool(_CONJUNCTION.match(secret.rest)) or value != secret.value
    return secret.how == "sign" or (is_last and plain.isalpha() and not plain.endswith(words.ADJECTIVES))


def _is_phrase(secret: PossibleSecret, name: str) -> bool:
    """Three words and more that make no sentence."""
    spoken = re.findall(r"\w+", f"{secret.value}{secret.rest}".lower())
    if secret.how not in ("sign", "is", "with") or not ("phrase" in name or secret.how == "is") or not 3 <= len(spoken) <= 8:
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


def _is_code(secret: PossibleSecret, name: str) -> bool:
    if secret.how == "any":
        return False
    digits = _DIGITS.match(f"{secret.value}{secret.rest}")
    if digits is None:
        return bool(_CODE.fullmatch(secret.bare.rstrip("!"))) or (secret.is_quoted and _is_key(secret, name))
    if _UNIT.match(f"{secret.value}{secret.rest}"[digits.end() :]) or (secret.how == "to" and _YEAR.fullmatch(digits[0])):
        return False
    return sum(c.isdigit() for c in digits[0]) >= (3 if name.startswith(("cv", "comb", "komb")) else 4)


def _is_key(secret: PossibleSecret, _: str) -> bool:
    value = secret.bare.rstrip("!")
    if secret.how == "any" or _TECHNICAL.fullmatch(value):
        return False
    if _HEXADECIMAL.match(f"{secret.value}{secret.rest}"):
        return True
    if secret.is_quoted:
        return secret.how == "sign" or (_is_made(value) and len(value) >= 6)
    if value.isdecimal():
        return len(value) >= 6 and secret.how in ("sign", "is") and not _UNIT.match(secret.rest)
    return len(value) >= 4 and _is_made(value) and not _FIELD.fullmatch(value) and (secret.how == "sign" or len(value) >= 6)


def _is_login(secret: PossibleSecret, _: str) -> bool:
    """A name and a password beside each other, or what one signs in with if no name of a thing is like it."""
    if secret.how == "any":
        return len(secret.bare) >= 8 and _has_mark(secret.bare) and bool(re.search(r"[!$%&*~]", secret.bare))
    pair = _PAIR.match(f"{secret.value}{secret.rest}")
    value = pair["value"].rstrip(".,;:?)]}") if pair else secret.bare
    return _is_made(value) if pair else secret.how == "with" and bool(_STRONG.search(value))


def _is_typed(secret: PossibleSecret, name: str) -> bool:
    """Digits that are typed in somewhere: "Enter 7741 to disarm", "unlocks with 220488"."""
    digits = _DIGITS.match(f"{secret.value}{secret.rest}")
    if digits is None or secret.how not in (("before", "next") if name.startswith(("ein", "tipp")) else ("next", "with", "is")):
        return False
    if _UNIT.match(f"{secret.value}{secret.rest}"[digits.end() :]) or _YEAR.fullmatch(digits[0]):
        return False
    return sum(c.isdigit() for c in digits[0]) >= 4


def _is_locks(secret: PossibleSecret, name: str) -> bool:
    """ "Bike lock: 7193" """
    hows = ("sign", "with", "to") if name in words.LOCKS_WITH_DIGITS else ("sign", "with")
    return secret.how in hows and _is_code(secret, name)


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


_BEFORE, _AFTER = 70, 130
"""Characters around a name that are looked at: a clause is seldom longer."""

# Of lower-case text: without regard to case it takes twice as long, and most of what the gate costs is looking for names.
_NAME = regex(
    rf"(?P<password>{words.PASSWORDS})|(?P<code>{words.CODES})|(?P<key>{words.KEYS})|(?P<login>{words.LOGINS})"
    rf"|(?P<typed>{words.TYPED})|(?P<lock>{words.LOCKS})"
)
# Lines with bars between cells; a table of Markdown and what looks like one.
_TABLE = regex(r"^[^\n|]{0,200}\|[^\n|]{0,200}(?:\|[^\n]{0,2000})?(?:\n[^\n|]{0,200}\|[^\n]{0,2000}){1,1000}", re.MULTILINE)
_COMPOUND = regex(rf"[ -]?{words.ABOUT_IT}", re.IGNORECASE)
# "Summer2024! as the password" goes on; so does "Password:" at the end of a line.
_CLAUSE_END = regex(r"(?:(?<![.?;!])|(?<=\d!))(?:[.?;]|(?<!\d)!)++(?=\s)|(?<![:=])\n|。")
# The rest of a compound and what closes it: "_X", "s", '"', ")". Vowels of Hindi, Bengali and Thai are marks, not letters.
_TAIL = regex(
    r"(?:(?![はが是为為])[\w\u0900-\u0903\u093a-\u094f\u0981-\u09cd\u0e31-\u0e4e-]){0,24}(?:(?!['’]s\b)[\"'`\])»”]){0,2}"
)
_SIGN = regex(r"\s{0,3}(?:=>|->|→|:=|=|:|は|[が是为為]\s?(?=[!-~]{4})|—|\?(?=\s))\s{0,3}")
_IS = regex(rf"(?:^|(?<=[\s,]))(?:{words.IS})(?=\s)|['’]s(?=\s)", re.IGNORECASE)
# Russian and Arabic need no "is": "код от ворот 4190".
_NOTHING = regex(r"(?:-?[\u0400-\u04ff\u0600-\u06ff]{0,20}\s{1,2}){1,4}(?=[^\s\d]?\d)")
_TURN = (
    rf"(?:[左右]\s?\d{{1,2}}|\b(?:{words.DIRECTIONS})\b[ :]{{0,2}}(?:\w{{1,4}} )?\d{{1,2}}\b"
    rf"|\b\d{{1,2}} (?:{words.DIRECTIONS})\b)"
)
_NEXT_TURN = rf"[\s,;.>→、，-]{{1,3}}(?:\w{{1,6}} ){{0,2}}{_TURN}"
_DIALLED = regex(rf"{_TURN}(?:{_NEXT_TURN}){{2}}(?! ?(?:k?m|meters?|metres?)\b)", re.IGNORECASE)
_DIAL = regex(words.DIALS, re.IGNORECASE)
# "to" is "is" there, and stands before what is no secret elsewhere.
_POLISH = regex(r"has[łl]o|\bkod |szyfr|klucz|karty|\bheslo|\bkód| do | ke? ", re.IGNORECASE)
_IS_IN_POLISH = regex(rf"(?:^|(?<=[\s,]))(?:to|je|{words.IS})(?=\s)", re.IGNORECASE)
_TO = regex(rf"(?<=\s)(?:{words.TO})(?=\s)", re.IGNORECASE)
_WITH = regex(rf"(?<=\s)(?:{words.WITH})(?=\s)", re.IGNORECASE)
_ENDS_WITH = regex(rf"\b(?:{words.WITH})\s(?:[\w']{{1,8}}\s)?$", re.IGNORECASE)
_CHANGED = regex(words.CHANGED, re.IGNORECASE)
_FILLERS = regex(rf"[\s,]{{0,3}}(?:(?:{words.FILLERS})\s{{1,3}}){{0,2}}", re.IGNORECASE)
_QUOTED = regex(r"[\"'`„“”«‹「]\s?([^\"'`„“”«»‹›「」]{1,80}?)\s?[\"'`“”»›」]")
# Behind a word of Chinese or Japanese what is typed needs no space before or after it.
_BARE = regex(r"(?<=[はが是为為])[!#-&(-_a-~]{1,200}|[^\s\"'`„“”«»]{1,200}")
_OF_IT = regex(
    rf"(?P<value>[^\s\"'`„“”«»]{{4,60}}|[\"'`„“”«][^\"'`„“”«»]{{3,60}}[\"'`“”»])\s{{1,3}}(?:{words.IS}|=|as|als|comme|como|come)"
    r"\s{1,3}(?:[\w'’-]{1,15}\s{1,2}){0,7}[\w-]{0,20}$",
    re.IGNORECASE,
)
_AS = regex(r"(?<![a-z])(?:als|as|comme|como|come)\s{1,3}(?:[a-z]{1,5}\s)?$", re.IGNORECASE)
_OPENED = regex(words.OPENED, re.IGNORECASE)
_NOT_OPENING = regex(rf"{words.NOT_OPENING}[ -]?$", re.IGNORECASE)
_NOT_OPENED = regex(rf"\s(?:de |d'|di )?{words.NOT_OPENING}", re.IGNORECASE)
_NUMBER_BEFORE = regex(r"(?<![\w.,:/-])\d[\d -]{2,8}\d(?=[#*]?\s)")


def states_secret(text: str) -> bool:
    """Whether the text states a password, a code or a key by its name."""
    lower = text.lower()
    # Some letters of Turkish become two.
    text = text if len(text) == len(lower) else lower
    if any(_states(name, text) for name in _NAME.finditer(lower)) or any(map(states_secret, _cells(text))):
        return True
    return bool(_DIAL.search(text) and _DIALLED.search(text))


def _cells(text: str) -> Iterator[str]:
    """The cells of a table under a secret's name, each behind that name: "password: Summer2024!"."""
    for table in _TABLE.finditer(text):
        names, *rows = ([cell.strip() for cell in line.strip("| \r").split("|")] for line in table[0].splitlines())
        columns = [at for at, name in enumerate(names) if _NAME.search(name.lower())]
        yield from (f"{names[at]}: {row[at]}" for row in rows for at in columns if at < len(row) and row[at].strip(":- "))


def _states(name: re.Match[str], text: str) -> bool:
    kind = str(name.lastgroup)
    before = _CLAUSE_END.split(text[max(0, name.start() - _BEFORE) : name.start()])[-1]
    after = text[name.end() : name.end() + _AFTER]
    opens = _opens(before, name[0], after)
    if _COMPOUND.match(after) or (not opens and (kind == "typed" or (kind == "code" and _is_any_code(name[0])))):
        return False
    # Where a key opens something it may be digits, as a code is; so may the password of a safe. One word of Arabic is for both.
    is_digits = (kind == "key" and opens) or (
        kind == "password" and (opens or bool(_DIAL.search(f"{before}{name[0]}{_clause(after)}")))
    )
    kinds = (kind, "code") if is_digits else (kind, "key") if name[0].startswith("رمز") else (kind,)
    stated = [secret for secret in _all_said(kind, before, name[0], after) if not PLACEHOLDER.fullmatch(secret.value)]
    return any(LOOKS[kind](secret, name[0]) for kind in kinds for secret in stated)


def _is_any_code(name: str) -> bool:
    """Whether it may as well be a code of errors, or a combination of drugs. A PIN is always a PIN."""
    return name.startswith(words.ANY_CODES) and not name.endswith(("secret", "secreto", "segreto"))


def _opens(before: str, name: str, after: str) -> bool:
    """Whether the clause is about something that a code opens, and not about an error or the post."""
    if _NOT_OPENING.search(before) or _NOT_OPENED.match(after):
        return False
    return bool(_OPENED.search(f"{before}{name}{_clause(after)}"))


def _clause(after: str) -> str:
    end = _CLAUSE_END.search(after, 1)
    return after[: end.end()] if end else after


def _all_said(kind: str, before: str, name: str, after: str) -> Iterator[PossibleSecret]:
    """Everything the clause may say of it, the likeliest first."""
    tail = _TAIL.match(after)
    start = tail.end() if tail else 0
    clause = after[start:] if after[start:].startswith("?") else _clause(after[start:])
    sign = _SIGN.match(clause)
    # A list often follows a line that ends in a colon, so a word there is one only where nothing follows it.
    yield _value(clause, sign.end() if sign else 0, ("is" if "\n" in sign[0] else "sign") if sign else "next")
    if nothing := _NOTHING.match(clause):
        yield _value(clause, nothing.end(), "is")
    is_said = _IS_IN_POLISH if kind != "login" and _POLISH.search(f"{before[-12:]}{name}{after[:12]}") else _IS
    yield from (_value(clause, match.end(), "is") for match in is_said.finditer(clause))
    yield from (_value(clause, match.end(), "is" if "=" in match[0] else "far sign") for match in _SIGN.finditer(clause, 1))
    if _CHANGED.search(before) or _CHANGED.search(clause):
        yield from (_value(clause, match.end(), "to") for match in _TO.finditer(clause))
    if kind in ("login", "lock", "typed"):
        yield from (_value(clause, match.end(), "with") for match in _WITH.finditer(clause))
    if _ENDS_WITH.search(before):
        yield _value(clause, 0, "with")
    yield from _said_anywhere(kind, before, clause)


def _said_anywhere(kind: str, before: str, clause: str) -> Iterator[PossibleSecret]:
    is_as = bool(_AS.search(before))
    if is_as or kind in ("password", "login"):
        spoken = f"{before} {clause}".split()
        things = [False, *(word.lower() in words.BEFORE_THINGS for word in spoken)]
        mark = "to" if is_as else "any"
        yield from (
            PossibleSecret(word.strip(".,;()\"'"), mark, is_thing=thing) for word, thing in zip(spoken, things, strict=False)
        )
    if kind in ("code", "typed"):
        yield from (PossibleSecret(match[0], "before", before[match.end() :]) for match in _NUMBER_BEFORE.finditer(before))
    if found_match := _OF_IT.search(before):
        yield PossibleSecret(found_match["value"].strip("\"'`„“”«» "), "before", is_quoted=not found_match["value"][0].isalnum())


def _value(clause: str, at: int, mark: str) -> PossibleSecret:
    filler = _FILLERS.match(clause, at)
    at = filler.end() if filler else at
    if quoted := _QUOTED.match(clause, at):
        return PossibleSecret(quoted[1], mark, clause[quoted.end() :], is_quoted=True)
    bare = _BARE.match(clause, at)
    return PossibleSecret(bare[0], mark, clause[bare.end() :]) if bare else PossibleSecret("", mark)
