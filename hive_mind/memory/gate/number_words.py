"""The names of numbers below a hundred, as codes and combinations are dictated in them, in the languages of `secret_words`.

Only words; `disguises` uses them.
"""

from collections.abc import Mapping
from types import MappingProxyType

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
    *((f"{one}und{ten}", n, t) for n, one in enumerate("ein zwei drei vier fünf sechs sieben acht neun".split(), 1)
      for t, ten in enumerate(_TENS[1].split(), 2)),
    *((f"{one}{'ën' if one in ('twee', 'drie') else 'en'}{ten}", n, t)
      for n, one in enumerate("een twee drie vier vijf zes zeven acht negen".split(), 1)
      for t, ten in enumerate(_TENS[6].split(), 2)),
    *((f"{ten[:-1] if one in ('uno', 'otto') else ten}{'tré' if one == 'tre' else one}", n, t)
      for n, one in enumerate(_DIGITS[4].split()[1:], 1) for t, ten in enumerate(_TENS[4].split(), 2)),
    *((f"veinti{one}", n, 2) for n, one in enumerate("uno dós trés cuatro cinco séis siete ocho nueve".split(), 1)),
    *((f"{ten}{one}", n, t) for n, one in enumerate(_DIGITS[10].split()[1:], 1) for t, ten in enumerate(_TENS[9].split(), 2)),
)  # fmt: skip


def _numbers() -> dict[str, int]:
    known: dict[str, int] = {}
    for first, step, rows in ((0, 1, _DIGITS), (10, 1, _TEENS), (20, 10, _TENS)):
        for row in rows:
            for place, word in enumerate(row.split()):
                # The same word may be another number elsewhere: the language that comes first has it.
                known.setdefault(word, first + step * place)
    return known | {word: 10 * tens + ones for word, ones, tens in _JOINED}


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
