"""Secrets that a sentence tells: "the password of the portal is Summer2024!", "Der Türcode lautet 4711".

First what a secret is called, then what the same clause says of it: behind "is", a colon or "changed to", right behind the name,
or before it ("4711 is the PIN"). Whether that is one is for `secret_shapes` to say. Every clause is bounded, so a text costs time
in proportion to its length.
"""

import re
from collections.abc import Iterator

from hive_mind.memory.gate import secret_words as words
from hive_mind.memory.gate.secret_shapes import LOOKS, PLACEHOLDER, PossibleSecret
from hive_mind.regex import regex

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
        named = [at for at, name in enumerate(names) if _NAME.search(name.lower())]
        yield from (f"{names[at]}: {row[at]}" for row in rows for at in named if at < len(row) and row[at].strip(":- "))


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
    stated = [said for said in _all_said(kind, before, name[0], after) if not PLACEHOLDER.fullmatch(said.value)]
    return any(LOOKS[one](said, name[0]) for one in kinds for said in stated)


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
    yield from (_value(clause, found.end(), "is") for found in is_said.finditer(clause))
    yield from (_value(clause, found.end(), "is" if "=" in found[0] else "far sign") for found in _SIGN.finditer(clause, 1))
    if _CHANGED.search(before) or _CHANGED.search(clause):
        yield from (_value(clause, found.end(), "to") for found in _TO.finditer(clause))
    if kind in ("login", "lock", "typed"):
        yield from (_value(clause, found.end(), "with") for found in _WITH.finditer(clause))
    if _ENDS_WITH.search(before):
        yield _value(clause, 0, "with")
    yield from _said_anywhere(kind, before, clause)


def _said_anywhere(kind: str, before: str, clause: str) -> Iterator[PossibleSecret]:
    is_as = bool(_AS.search(before))
    if is_as or kind in ("password", "login"):
        spoken = f"{before} {clause}".split()
        things = [False, *(word.lower() in words.BEFORE_THINGS for word in spoken)]
        how = "to" if is_as else "any"
        yield from (
            PossibleSecret(word.strip(".,;()\"'"), how, is_thing=thing) for word, thing in zip(spoken, things, strict=False)
        )
    if kind in ("code", "typed"):
        yield from (PossibleSecret(found[0], "before", before[found.end() :]) for found in _NUMBER_BEFORE.finditer(before))
    if found := _OF_IT.search(before):
        yield PossibleSecret(found["value"].strip("\"'`„“”«» "), "before", is_quoted=not found["value"][0].isalnum())


def _value(clause: str, at: int, how: str) -> PossibleSecret:
    filler = _FILLERS.match(clause, at)
    at = filler.end() if filler else at
    if quoted := _QUOTED.match(clause, at):
        return PossibleSecret(quoted[1], how, clause[quoted.end() :], is_quoted=True)
    bare = _BARE.match(clause, at)
    return PossibleSecret(bare[0], how, clause[bare.end() :]) if bare else PossibleSecret("", how)
