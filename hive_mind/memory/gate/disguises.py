"""A text as a reader sees it whom no markup, alphabet or spelling misleads: what the gate looks at besides the plain text.

Numbers in words become digits, letters of two alphabets in one word those of one, and marks that only lay out a text go. Each
form is looked at for itself, so what is found in the text as it stands is found still.

Numbers below a hundred have their names here, as codes are dictated in them, in the languages of `secret_words`.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from hive_mind.memory.gate.secret_words import DIRECTIONS
from hive_mind.model.ids import normal, without_comments, without_tags
from hive_mind.regex import regex

# Danish "to" and "et" are words of other languages too, and left out.
_DIGITS = (
    "zero one two three four five six seven eight nine",
    "null eins zwei drei vier fünf sechs sieben acht neun",
    "zéro un deux trois quatre cinq six sept huit neuf",
    "cero uno dos tres cuatro cinco seis siete ocho nueve",
    "zero uno due tre quattro cinque sei sette otto nove",
    "zero um dois três quatro cinco seis sete oito nove",
    "nul een twee drie vier vijf zes zeven acht negen",
    "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć",
    "ноль один два три четыре пять шесть семь восемь девять",
    "нуль одна две три чотири п'ять шість сім вісім дев'ять",
    "noll ett två tre fyra fem sex sju åtta nio",
    "null én två tre fire fem seks sju åtte ni",
    "nul én två tre fire fem seks syv otte ni",
    "sıfır bir iki üç dört beş altı yedi sekiz dokuz",
    "nula jedna dva tři čtyři pět šest sedm osm devět",
    "zero unu doi trei patru cinci șase șapte opt nouă",
    "صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة",
    "صفر واحد اثنين ثلاثه اربعة خمسه سته سبعه ثمانيه تسعه",
    "शून्य एक दो तीन चार पाँच छह सात आठ नौ",
    "ज़ीरो एक दो तीन चार पांच छः सात आठ नौ",
    "ゼロ いち に さん よん ご ろく なな はち きゅう",
    "oh",
    "null eine zwo drei vier fuenf sechs sieben acht neun",
)
_OF_DIGITS, _OF_TENS = "en de fr es it pt nl pl ru uk sv no da tr cs ro ar ar hi hi ja en de", "en de fr es it pt nl pl ru sv"
_TEENS = (
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
    "dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf",
    "diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve",
    "dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove",
    "dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove",
    "tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien",
    "dziesięć jedenaście dwanaście trzynaście czternaście piętnaście szesnaście siedemnaście osiemnaście dziewiętnaście",
    "десять одиннадцать двенадцать тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать",
    "tio elva tolv tretton fjorton femton sexton sjutton arton nitton",
)
_TENS = (
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "vingt trente quarante cinquante soixante septante huitante nonante",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
    "dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt siedemdziesiąt osiemdziesiąt dziewięćdziesiąt",
    "двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто",
    "tjugo trettio fyrtio femtio sextio sjuttio åttio nittio",
)
# Between tens and ones ("treinta y cuatro"), and between what is set one after the other ("three, then nine").
CONNECTIVES = frozenset(
    "y e then dann danach puis ensuite luego después poi quindi depois então daarna vervolgens dan potem później потом затем "
    "sedan därefter deretter sonra pak potom apoi ثم फिर".split()
)
# One word for both: "vierunddreißig", "vierendertig", "trentaquattro", "veinticuatro".
_JOINED = (
    *((f"{unit}und{ten}", n, t) for n, unit in enumerate("ein zwei drei vier fünf sechs sieben acht neun".split(), 1)
      for t, ten in enumerate(_TENS[1].split(), 2)),
    *((f"{unit}{'ën' if unit in ('twee', 'drie') else 'en'}{ten}", n, t)
      for n, unit in enumerate("een twee drie vier vijf zes zeven acht negen".split(), 1)
      for t, ten in enumerate(_TENS[6].split(), 2)),
    *((f"{ten[:-1] if unit in ('uno', 'otto') else ten}{'tré' if unit == 'tre' else unit}", n, t)
      for n, unit in enumerate(_DIGITS[4].split()[1:], 1) for t, ten in enumerate(_TENS[4].split(), 2)),
    *((f"veinti{unit}", n, 2) for n, unit in enumerate("uno dós trés cuatro cinco séis siete ocho nueve".split(), 1)),
    *((f"{ten}{unit}", n, t) for n, unit in enumerate(_DIGITS[10].split()[1:], 1) for t, ten in enumerate(_TENS[9].split(), 2)),
)  # fmt: skip


def _numbers() -> dict[str, int]:
    values: dict[str, int] = {}
    for first, step, rows in ((0, 1, _DIGITS), (10, 1, _TEENS), (20, 10, _TENS)):
        for row in rows:
            for place, word in enumerate(row.split()):
                # The same word may be another number elsewhere: the language that comes first has it.
                values.setdefault(word, first + step * place)
    return values | {word: 10 * tens + units for word, units, tens in _JOINED}


def _languages() -> dict[str, frozenset[str]]:
    spoken: dict[str, set[str]] = {}
    for languages, rows in ((_OF_DIGITS, _DIGITS), (_OF_TENS, _TEENS), (_OF_TENS, _TENS)):
        for language, row in zip(languages.split(), rows, strict=True):
            for word in row.split():
                spoken.setdefault(word, set()).add(language)
    # Those joined of two are of one language too, but nothing else is like them.
    return {word: frozenset(spoken.get(word, _OF_DIGITS.split())) for word in NUMBERS}


NUMBERS: Mapping[str, int] = MappingProxyType(_numbers())
LANGUAGES: Mapping[str, frozenset[str]] = MappingProxyType(_languages())
"""Those in which a word is a number: "um" in Portuguese alone."""


# Letters of the Greek and the Cyrillic alphabet that look like Latin ones.
_ALIKE = str.maketrans("АВЕЅІЈКМНОРСТХУасеіјорхуѕһԁΑΒΕΖΗΙΚΜΝΟΡΤΥΧαονι", "ABESIJKMHOPCTXYaceijopxyshdABEZHIKMNOPTYXaovi")
_FOREIGN = regex(r"[\u0370-\u03ff\u0400-\u052f]")
_LATIN = regex(r"[A-Za-z]")
# "**4711**", "~~old~~", "`key`"; one star or line only at the edge of a word, or between digits.
_EMPHASIS = regex(r"\*{2,3}|_{2,3}|~~|`{1,3}|(?<!\w)[*_]|[*_](?!\w)|(?<=\d)[*_~](?=\d)")
_ESCAPED = regex(r"\\([-!#&()*+.<>@\[\]_`{|}~])")
_PERCENT = regex(r"%(?:20|2[dDeE]|40)")
_PERCENT_FOR = {"%20": " ", "%2d": "-", "%2e": ".", "%40": "@"}
_MAY_BE_MARKED = regex(r"[<&*_`~\\%]")
_WORD = regex(r"[^\W\d_]+")
_GAP = regex(r"[ ,\-\u00a0]{1,3}|\s")
_DIRECTION = regex(DIRECTIONS)
# Fewer number words in a row are part of a sentence.
_NUMBER_WORDS_MIN = 3
_TURNS_MIN = 2
_HAN = "〇一二三四五六七八九"
_HAN_DIGITS = regex(rf"(?:[{_HAN}零幺][ -]?){{4,40}}+")
_HAN_FOR = str.maketrans({"零": "0", "幺": "1"} | {character: str(digit) for digit, character in enumerate(_HAN)})


def forms_of(text: str) -> Iterator[str]:
    """The text and what is under its disguises, each once."""
    plain = bare = _plain(text)
    yield plain
    if _MAY_BE_MARKED.search(plain) and (bare := _bare(plain)) != plain:
        yield bare
    if (spelled := in_digits(bare)) != bare:
        yield spelled


def _plain(text: str) -> str:
    """One kind of dash, of letters and of digits."""
    text = normal(text)
    if text.isascii():
        return text
    plain = "".join(_shown(c) for c in text)
    return _WORD.sub(_in_one_alphabet, plain) if _FOREIGN.search(plain) else plain


def _in_one_alphabet(word: re.Match[str]) -> str:
    is_mixed = _FOREIGN.search(word[0]) and _LATIN.search(word[0])
    return word[0].translate(_ALIKE) if is_mixed else word[0]


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Pd":
        return "-"
    # ① and ² are digits to a reader of numbers.
    return str(digit) if category == "No" and (digit := unicodedata.digit(character, None)) is not None else character


def _bare(text: str) -> str:
    """Without tags, references, comments, emphasis and escapes. Twice, for what is escaped in an escape."""
    for _ in range(2):
        text = without_tags(without_comments(text)[0])
    text = _PERCENT.sub(lambda match: _PERCENT_FOR[match[0].lower()], _plain(text))
    return _EMPHASIS.sub("", _ESCAPED.sub(r"\1", text))


def in_digits(text: str) -> str:
    """Three number words and more in a row as digits: "four seven one one" as 4711, "thirty-four, twelve, two" as 34 12 2."""
    if not text.isascii():
        text = _HAN_DIGITS.sub(lambda match: match[0].translate(_HAN_FOR), text)
    if sum(map(NUMBERS.__contains__, _WORD.findall(text.lower()))) < _NUMBER_WORDS_MIN:
        return text
    pieces, at = [], 0
    for run in _runs(text):
        if len(run) >= _NUMBER_WORDS_MIN:
            pieces += [text[at : run[0].start()], _digits(run, text)]
            at = run[-1].end()
    return "".join((*pieces, text[at:])) if pieces else text


def _runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Number words of one language with nothing but a comma, a hyphen or an "and" between them."""
    run: list[re.Match[str]] = []
    between, common = 0, frozenset[str]()
    for word in _WORD.finditer(text):
        lower = word[0].lower()
        is_near = bool(run) and bool(_GAP.fullmatch(text, between, word.start()))
        between = word.end()
        if is_near and (lower in CONNECTIVES or _DIRECTION.fullmatch(lower)):
            continue
        spoken = LANGUAGES.get(lower, frozenset())
        # German "um" is no Portuguese number.
        if is_near and (shared := common & spoken):
            run, common = [*run, word], shared
            continue
        if run:
            yield run
        run, common = ([word] if spoken else []), spoken
    if run:
        yield run


def _digits(run: list[re.Match[str]], text: str) -> str:
    """Single digits as one number, as they are dictated; others apart. "thirty" and "four" without a comma are 34."""
    values: list[int] = []
    between: list[str] = []
    end = run[0].start()
    for word in run:
        value, gap = NUMBERS[word[0].lower()], text[end : word.start()]
        if values and 0 < value < 10 and values[-1] in range(20, 100, 10) and "," not in gap:
            values[-1] += value
        else:
            values.append(value)
            between.append(gap)
        end = word.end()
    # One alone is beside a number; two say how to turn a dial.
    if sum(bool(_DIRECTION.search(gap.lower())) for gap in between) >= _TURNS_MIN:
        return "".join(f"{gap}{value}" for gap, value in zip(between, values, strict=True))
    return ("" if max(values) < 10 else " ").join(map(str, values))
