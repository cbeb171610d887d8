"""Entities: the names, codes and addresses a sentence mentions, as they are written.

A name is a run of capitalised words. Every sentence begins with a capital, so a lone first word counts only when the rest of
the text shows that it is a name; `Vocabulary` is what a text shows about its words.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from hive_mind.model.figures import is_unit
from hive_mind.regex import regex

# A statement about more things than this is a list; the first ones say what it is about.
_ENTITIES_MAX = 32
_NAME_CHARS_MAX = 80

# Bounded, and each begins where no such run is under way: a megabyte of "a" is looked at once, not once per letter.
_CODES = regex(
    r"(?<![\w.+@-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"  # e-mail
    r"|\bhttps?://[^\s<>\"')\]]{1,300}"
    r"|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d{1,5})?(?![\w.]*\w\.\d)"  # IPv4, with port or prefix
    r"|(?<![\w:])(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{0,4}(?!\w)"  # IPv6
    r"|(?<![\w-])[A-Z][A-Z0-9]{1,15}-[A-Z0-9-]{0,24}\d[\w-]{0,24}"  # INC-2024-001
    r"|(?<!\w)[#\u2116]\d{1,10}\b"
    r"|(?<![\w.-])v?\d{1,4}\.\d{1,4}\.\d{1,6}(?:-[\w.]{1,20})?(?![\w.]*\w\.\d)"  # versions
    r"|(?<![\w.-])[a-z][a-z0-9]{0,30}(?:-[a-z0-9]{1,30}){0,6}-?\d[\w-]{0,30}(?:\.[a-z][\w-]{0,30}){0,6}"  # hosts
)
_WORDS = regex(r"[^\W_](?:[\w&]|['\u2019.-](?=\w))*")
_POSSESSIVE = regex(r"['\u2019]s?$")
_SENTENCE_END = regex(r"(?:[.!?:\u2026\u201c\"]|(?<!\s)(?>\s*\n))\s*+$")

# Words that stand inside a name in lower case, between two capitalised ones.
_JOINERS = frozenset(("of", "de", "da", "di", "del", "van", "von", "der", "den", "la", "le", "du", "for", "the"))

# Capitalised by rule or by habit, and never the name of something the sentence is about.
_ORDINARY = frozenset(
    """
    i im ive ill id a an the this that these those it its he she they we you his her their our my your me us them there here
    what when where which who whom whose why how yes no not ok okay oh hey hi hello thanks thank please sorry well so and but
    or if then also too in on at to from for with by of as is are was were be been do does did has have had can could will
    would should may might must after before during while since until although because however meanwhile finally first
    second third next last all any both each every some many most more much several few one two three nothing something
    everything everyone someone anyone nobody let lets just now today yesterday tomorrow tonight currently recently
    previously later earlier eventually still already maybe perhaps wow great congrats good nice sure absolutely definitely
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december mon tue wed thu fri sat sun am pm jan feb mar apr jun jul aug sep sept oct nov dec
    """.split()
)
_COPULAS = frozenset(
    "is was has had will can could should does did said says went works lives likes loves owns runs uses no not never now "
    "won't isn't wasn't hasn't doesn't didn't can't cannot".split()
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A text's evidence about its words: which are capitalised inside sentences, and which also occur in lower case."""

    names: frozenset[str] = frozenset()
    ordinary: frozenset[str] = frozenset()


class _Word(NamedTuple):
    text: str
    start: int
    end: int
    begins_sentence: bool


def vocabulary_of(sentences: Iterable[str]) -> Vocabulary:
    """The common evidence of these sentences."""
    names: set[str] = set()
    ordinary: set[str] = set()
    for word in chain.from_iterable(map(_words, sentences)):
        if word.text[0].islower():
            ordinary.add(word.text)
        elif word.text[0].isupper() and not word.begins_sentence:
            names.add(_POSSESSIVE.sub("", word.text))
    return Vocabulary(frozenset(names), frozenset(ordinary))


def entities(sentence: str, vocabulary: Vocabulary | None = None) -> tuple[str, ...]:
    """The entities a sentence mentions, in its order, each once. Any string is fine."""
    codes = [(match.start(), match.end(), match.group().rstrip(".,-")) for match in _CODES.finditer(sentence)]
    words = list(_words(sentence))
    lettered = [word for word in words if word.text[0].isalpha()]
    # In a headline, or a shout, capitals tell nothing.
    is_shouted = len(lettered) > 3 and all(word.text.isupper() for word in lettered)
    names = [] if is_shouted else list(_names(sentence, words, vocabulary or vocabulary_of([sentence])))
    spans, position = list(codes), 0
    # Names that no code covers: both lists are in the order of the text, so one pass is enough.
    for name in names:
        while position < len(codes) and codes[position][1] <= name[0]:
            position += 1
        if position == len(codes) or codes[position][0] >= name[1]:
            spans.append(name)
    return tuple(dict.fromkeys(text for _, _, text in sorted(spans)))[:_ENTITIES_MAX]


def _words(sentence: str) -> Iterator[_Word]:
    end = 0
    for match in _WORDS.finditer(sentence):
        gap = sentence[max(end, match.start() - 8) : match.start()]
        begins = end == 0 or (gap != " " and _SENTENCE_END.search(gap) is not None)
        yield _Word(match.group(), match.start(), match.end(), begins)
        end = match.end()


def _names(sentence: str, words: list[_Word], vocabulary: Vocabulary) -> Iterator[tuple[int, int, str]]:
    position = 0
    while position < len(words):
        is_measure = position and words[position - 1].text[-1].isdigit() and is_unit(words[position].text)
        if is_measure or not words[position].text[0].isupper():
            position += 1
            continue
        run = _run_from(sentence, words, position)
        position += max(1, len(run))
        while run:
            # Also in a contraction: "I'm" and "It's" as "I" and "It", and "Don't" whatever stands before its end.
            stem, mark, ending = run[0].text.casefold().replace("’", "'").partition("'")
            if run[0].text[0].isupper() and stem not in _ORDINARY and not (mark and ending == "t"):
                break
            run = run[1:]
        following = words[position].text if position < len(words) else ""
        if run and _is_name(run, following, vocabulary):
            name = _POSSESSIVE.sub("", sentence[run[0].start : run[-1].end])
            if len(name) > 1 or len(run) > 1:
                yield run[0].start, run[-1].end, name[:_NAME_CHARS_MAX]


def _run_from(sentence: str, words: list[_Word], first: int) -> list[_Word]:
    """The longest run of capitalised words from here on, with joiners inside; empty if this one is in lower case."""
    run: list[_Word] = []
    length = 0
    for word in words[first : first + 12]:
        if run and (sentence[run[-1].end : word.start] not in (" ", ". ") or run[-1].text.endswith(("'s", "\u2019s"))):
            break
        if run and sentence[run[-1].end] == "." and len(run[-1].text) > 3:
            # A full stop, not the point of an initial or a title.
            break
        if word.text[0].isupper() or (run and word.text[0].isdigit() and len(word.text) <= 4):
            run.append(word)
            length = len(run)
        elif run and word.text in _JOINERS:
            run.append(word)
        else:
            break
    return run[:length]


def _is_name(run: list[_Word], following: str, vocabulary: Vocabulary) -> bool:
    first = run[0]
    if len(run) > 1 or not first.begins_sentence:
        return True
    word = _POSSESSIVE.sub("", first.text)
    if word in vocabulary.names or any(letter.isupper() or letter.isdigit() for letter in word[1:]):
        return True
    if word.lower() in vocabulary.ordinary:
        return False
    return word != first.text or following.replace("’", "'") in _COPULAS
