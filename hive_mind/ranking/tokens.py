"""The one tokenizer: text to terms, the same for facts, documents and questions.

Terms are lower-cased, stripped of accents, freed of stop words and stemmed (`words`). A code such as "CVE-2024-1234" or
"75.1725" gives its parts and itself, so that a search for the whole code can tell it from its neighbours. Figures come in one
form, and a word that would be dropped stays where its capitals make a name of it (`names`).

`tokenize` gives words. An index holds `indexed_terms` and is asked for `question_terms`: these have grams beside the words,
except in English.
"""

import re
import unicodedata
from functools import cache
from itertools import chain

from hive_mind.model.figures import plain_figures
from hive_mind.model.ids import HAN, KANA, UNSPACED, normal, with_hyphens
from hive_mind.ranking.words import GRAM, LEANS, NAMED, STOP_WORDS, grams, is_latin, is_marked, says_nothing, stem, with_names
from hive_mind.regex import regex
from hive_mind.remembered import remembered

# Ends with the signs of "C++" and "C#" where it has them.
_SIGNS_BEHIND = r"(?:(?<=[^\W\d_])(?:\+{1,2}|\#)(?![\w+\#]))?"
_RUN = regex(rf"\w+(?:[.\-:/_@]\w+)*{_SIGNS_BEHIND}", re.UNICODE)
_PART = regex(r"[^.\-:/_@+\#]+")
_POSSESSIVE = regex(r"['’]s\b|['’](?=t\b)")
_NOT_ASCII = regex("[^\x00-\x7f]+")
_HAS_DIGIT = regex(r"\d")
# Scripts whose vowel signs are marks, without which a word is another: from Devanagari to those of South East Asia.
_SIGNED = ((0x0900, 0x1CFF), (0xA800, 0xABFF), (0x11000, 0x11FFF))
_HAS_SIGNS = regex("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _SIGNED) + "]")
# Pairs of neighbouring characters stand in for words. Where a character is a letter, three do (docs/adr/0003-ranking.md).
_UNSPACED = regex(f"([{UNSPACED}]+)")
_UNSPACED_BEGIN = "\u0e00"
_LETTERS_END = "\u3000"
# Where kana or Han meet Latin letters or figures, which are words of their own. Patterns that begin with a set are looked for
# quickly.
_BEHIND_LATIN = regex(f"[{KANA}{HAN}](?<=[0-9a-zA-Z].)")
_BEFORE_LATIN = regex(f"[{KANA}{HAN}](?=[0-9a-zA-Z])")
# 佐々木 is 佐佐木, and いすゞ is いすず.
_REPEATING = regex("[々〻ゝヽ]")
_REPEATED = regex(r"([^\W\d_])([々〻ゝヽ]+)")
# "roll-back" is "rollback", "wi-fi" is "wifi"; nobody joins "two-dimensional"; with it Cranfield loses .4 points of nDCG@10.
_COMPOUND = regex(r"(?=[^-]{1,5}-[^-]{1,5}\Z)(?=.{3,9}\Z)[^\W\d_]+-[^\W\d_]+")
# The marks that make か into が and は into ぱ: another letter, not an accent.
_VOICED = "\u3099\u309a"
_NUKTA = 7
"""Combining class of the dot of India's scripts that many leave out."""
# Letters that no mark makes of others, though people type those in their place; and one that only stretches a word.
_TYPED_AS = str.maketrans(
    {
        **dict(zip("łŁđĐøØıħĦŧŦÐð", "lLdDoOihHtTDd", strict=True)),
        **dict(zip(("æ", "Æ", "œ", "Œ", "þ", "Þ"), ("ae", "AE", "oe", "OE", "th", "TH"), strict=True)),
        **dict(zip("کیـ", ("ك", "ي", ""), strict=True)),
    }
)
# All of ASCII that stands in no run, as spaces.
_SPACED = bytes(code if chr(code).isalnum() or chr(code) in "._-:/@+#" else ord(" ") for code in range(128)) + bytes(128)
# A longer run is no word anybody types: base64, a hash dump, a broken file. It would only bloat the index.
_TERM_CHARACTERS_MAX = 64
# Texts remembered with what they become: judging the facts that a question found looks at each of them a dozen times.
_Piece = tuple[int, tuple[str, ...]]
_Asked = tuple[tuple[str, ...], tuple[str, ...]]
_TEXTS_MAX = 512
# Words remembered with what they become: those of a language, some 300 bytes each. Numbers and names that come once pass through.
_KNOWN_MAX = 1 << 14


def tokenize(text: str) -> list[str]:
    """Words of `text` in order, repeats kept. Any string is fine; one without words gives an empty list."""
    return [word for piece in _pieces_of(chunks_of(text)) for word in piece[1]]


@remembered(_TEXTS_MAX)
def terms_in(text: str) -> frozenset[str]:
    """The words of `text`, each once."""
    return frozenset(tokenize(text))


def indexed_terms(text: str) -> list[str]:
    """Terms of a text by which an index finds it, repeats kept."""
    if not text:
        return []
    chunks = chunks_of(text)
    pieces = _pieces_of(chunks)
    leans = sum([piece[0] for piece in pieces])
    if text.isascii() and leans >= 0:
        return [word for piece in pieces for word in piece[1]]
    is_english = leans > 0 or (leans == 0 and not is_marked(text))
    return [term for chunk in chunks for term in terms_of(chunk, is_english)]


def is_english(text: str) -> bool:
    """Whether a text is plainly in no other language."""
    return not any(term.startswith(GRAM) or not is_latin(term) for term in indexed_terms(text))


def question_terms(text: str) -> tuple[str, ...]:
    """Terms to ask an index for: the words with their repeats, then each gram once.

    A few words may be of any language, so only a question that is plainly English is not asked for its grams.
    """
    chunks = chunks_of(text)
    pieces = _pieces_of(chunks)
    leans = sum([piece[0] for piece in pieces])
    if leans > 0 and text.isascii():
        return tuple([word for piece in pieces for word in piece[1]])
    asked = [_asked_for(chunk, (leans > 0) - (leans < 0)) for chunk in chunks]
    return (
        *chain.from_iterable([words for words, _ in asked]),
        *dict.fromkeys(chain.from_iterable([grams for _, grams in asked])),
    )


def chunks_of(text: str) -> list[str]:
    """The text cut where no term goes on, and folded: what a chunk becomes does not hang on those around it.

    Folded is without case, accents and possessives, figures in one form. Plain ASCII, the common case, skips the Unicode work.
    """
    if not text.isascii():
        # ASCII between stays as it is in every step, so only the rest has to be looked at.
        text = _NOT_ASCII.sub(_bare, with_hyphens(text))
        if _UNSPACED.search(text):
            text = _BEFORE_LATIN.sub(r"\g<0> ", _BEHIND_LATIN.sub(r" \g<0>", text))
    folded = with_names(plain_figures(text)).casefold()
    if "'" in folded or "’" in folded:
        folded = _POSSESSIVE.sub("", folded)
    # Plain ASCII, the common case, is cut in fewer steps, and its chunks hold a run each but for a few.
    if folded.isascii():
        return f"{folded} ".encode().translate(_SPACED).decode().replace(". ", " ").split()
    return _runs(folded)


def _pieces_of(chunks: list[str]) -> list[_Piece]:
    is_long = max(map(len, chunks), default=0) > _TERM_CHARACTERS_MAX
    return list(map(piece_of if is_long else _known_piece_of, chunks))


def piece_of(chunk: str) -> _Piece:
    """How many more function words of English it has than of others (`words.LEANS`), and the words in it."""
    # Long ones are rare and not repeated: remembering them would only hold memory.
    return _known_piece_of(chunk) if len(chunk) <= _TERM_CHARACTERS_MAX else _piece_of(chunk)


def terms_of(chunk: str, is_english: bool) -> tuple[str, ...]:
    """Words and grams of a chunk for an index."""
    return _known_terms_of(chunk, is_english) if len(chunk) <= _TERM_CHARACTERS_MAX else _terms_of(chunk, is_english)


def _piece_of(chunk: str) -> _Piece:
    # Most chunks are a word, and nearly all are a run.
    runs = [chunk] if _is_word(chunk) else _runs(chunk)
    words = _split(runs[0]) if len(runs) == 1 else tuple([word for run in runs for word in _split(run)])
    return sum([LEANS.get(run, 0) for run in runs]), words


def _terms_of(chunk: str, is_english: bool) -> tuple[str, ...]:
    # The grams of function words stay: the same letters begin other words, and compounds.
    return tuple([term for run in _runs(chunk) for term in (*_words_saying(run, is_english), *_grams_of(run, is_english))])


def _asked_for(chunk: str, leans: int) -> _Asked:
    return _known_asked_for(chunk, leans) if len(chunk) <= _TERM_CHARACTERS_MAX else _all_asked_for(chunk, leans)


def _all_asked_for(chunk: str, leans: int) -> _Asked:
    """Words and grams of a chunk of a question, which leans to English, to no language (0) or to another."""
    runs = _runs(chunk)
    words = [word for run in runs for word in _words_saying(run, leans >= 0)]
    return tuple(words), tuple([gram for run in runs for gram in _grams_of(run, leans > 0, step=1)])


def _words_saying(run: str, is_english: bool) -> tuple[str, ...]:
    """Words of a run, none where it is a function word; a chunk is a run nearly always, whose words are known already."""
    return () if says_nothing(run, is_english) else piece_of(run)[1]


_known_asked_for = remembered(_KNOWN_MAX)(_all_asked_for)
_known_piece_of = remembered(2 * _KNOWN_MAX)(_piece_of)
_known_terms_of = remembered(_KNOWN_MAX)(_terms_of)


def _runs(text: str) -> list[str]:
    """Of a folded text."""
    if text.isascii() or _HAS_SIGNS.search(text) is None:
        return _RUN.findall(text)
    return _signed_run().findall(text)


@cache
def _signed_run() -> re.Pattern[str]:
    """As `_RUN`, with signs as parts of words; three times as slow."""
    codes = [code for first, last in _SIGNED for code in range(first, last + 1)]
    letter = rf"(?:\w|[{''.join(chr(code) for code in codes if unicodedata.category(chr(code))[0] == 'M')}])++"
    return re.compile(rf"{letter}(?:[.\-:/_@]{letter})*+{_SIGNS_BEHIND}")


def _bare(match: re.Match[str]) -> str:
    stretch = match[0]
    return _known_bare(stretch) if len(stretch) <= _TERM_CHARACTERS_MAX else _without_accents(stretch)


def _without_accents(stretch: str) -> str:
    decomposed = unicodedata.normalize("NFKD", normal(stretch).translate(_TYPED_AS))
    if _REPEATING.search(decomposed):
        decomposed = _REPEATED.sub(lambda repeated: repeated[1] * (1 + len(repeated[2])), decomposed)
    # Few characters make up a long text, so each is looked at once.
    accents = [character for character in set(decomposed) if _is_accent(character)]
    bare = decomposed.translate(dict.fromkeys(map(ord, accents))) if accents else decomposed
    # Puts together again what is a letter of its own: syllables of Hangul, voiced kana.
    return unicodedata.normalize("NFC", bare)


_known_bare = remembered(_KNOWN_MAX)(_without_accents)


def _is_accent(character: str) -> bool:
    if character in _VOICED or not unicodedata.category(character).startswith("M"):
        return False
    return unicodedata.combining(character) == _NUKTA or _HAS_SIGNS.match(character) is None


def _is_word(run: str) -> bool:
    """Whether it is plainly one word, of letters and of a script with spaces: most are, and are done with sooner."""
    return run.isalnum() if run.isascii() else run.isalpha() and max(run) < _UNSPACED_BEGIN


def _split(run: str) -> tuple[str, ...]:
    if _is_word(run):
        # A single letter says nothing; a single digit may be a day or a count.
        says_nothing = run in STOP_WORDS or len(run) > _TERM_CHARACTERS_MAX or (len(run) == 1 and not run.isdigit())
        return () if says_nothing else (stem(run),)
    if run.endswith(NAMED) and (bare := run.rstrip(NAMED)).isalpha() and (len(bare) == 1 or bare in STOP_WORDS):
        return (bare,)
    parts = _PART.findall(run)
    words = [word for part in parts for word in _words_of(part)]
    terms = [stem(word) for word in words if word not in STOP_WORDS and len(word) <= _TERM_CHARACTERS_MAX]
    if len(run) <= _TERM_CHARACTERS_MAX and ((len(parts) > 1 and _HAS_DIGIT.search(run)) or run.endswith(("+", "#"))):
        terms.append(run)
    elif _COMPOUND.fullmatch(run) and len(words) + (len(parts[0]) == 1) == len(parts):
        terms.append(stem("".join(parts)))
    return tuple(terms)


def _grams_of(run: str, is_english: bool, **step: int) -> list[str]:
    """Of the words of a run, in Latin letters only where the text around is not English."""
    if is_english and run.isascii():
        return []
    words = [run]
    if not _is_word(run):
        parts = _PART.findall(run)
        words = [word for part in parts for word in (_UNSPACED.sub(" ", part).split() if not part.isascii() else [part])]
    return [
        gram
        for word in words
        if word not in STOP_WORDS and len(word) <= _TERM_CHARACTERS_MAX and not (is_english and is_latin(word))
        for gram in grams(word, **step)
    ]


def _words_of(part: str) -> list[str]:
    if part.isascii():
        return _spaced(part)
    # Splitting by a group alternates: text between two runs, a run, text between, …
    pieces = _UNSPACED.split(part)
    return [word for number, piece in enumerate(pieces) for word in (_stretches(piece) if number % 2 else _spaced(piece))]


def _spaced(word: str) -> list[str]:
    # A single letter says nothing; a single digit may be a day or a count.
    return [word] if len(word) > 1 or word.isdigit() else []


def _stretches(run: str) -> list[str]:
    size = 3 if run[0] < _LETTERS_END else 2
    return [run[i : i + size] for i in range(len(run) - size + 1)] or [run]
