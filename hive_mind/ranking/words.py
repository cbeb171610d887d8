"""Words as terms need them: which language, which stemmer, the parts that stand in for stems, and words that are names.

Nothing is guessed from statistics, so that each member of a hive comes to the same terms. The script of a word names its stemmer.
Of texts in Latin letters those are English that have more of its function words than of others': of the rest, no stemmer is
chosen, as stretches of four letters ("grams") find more there than the language's own stemmer does (docs/adr/0003-ranking.md).
They also find what stands within a compound, and the same name in another case.

Names may look like words of no weight: IT, US and WHO, Will, plan B, ward C, sensor γ; and words stand within getUserById. Their
capitals, and what stands beside them, tell; so they are found before a text loses its capitals.
"""

import re
import threading

import Stemmer

from hive_mind.regex import regex

GRAM = "~"
"""First character of a gram, and of no other term."""
GRAM_WEIGHT = 0.7
"""Weight of a gram of a question: a word has as many as letters. From 0.3 to 1.0 they find the same within half a point
(docs/adr/0003-ranking.md)."""
_GRAM_CHARACTERS = 4
# Of a text every second one is indexed, which halves the index; of a question each is asked for, so any stretch of six letters is
# still met by one or two.
GRAM_STEP = 2
# Shorter words are as good as a gram themselves.
_GRAMS_OF_MIN = 4

# Articles, prepositions, pronouns, auxiliaries and the words questions are made of. Question words matter most: "what", "did" and
# "does" are rare in statements, so BM25 takes them for precious. Measured in docs/adr/0003-ranking.md.
STOP_WORDS = frozenset(
    """
    a about am an and any are as at be been being but by can could did do does doing for from had has have having he
    her hers him his how i if in into is it its itself just me might mine must my myself of on onto or our ours shall
    she should so such than that the their theirs them then there these they this those to too us was we were what when
    where which while who whom whose why will with would you your yours
    """.split()
)

# Of English and of other languages, too: they say nothing about which a text is in.
_SHARED = frozenset(
    "a am an as at be by can do for had has he her hers him i in is it just me my of on or so to us was we will".split()
)
_ENGLISH = STOP_WORDS - _SHARED
# The commonest words of some forty other languages in Latin letters, without accents: enough that a sentence has one. None is a
# word that English texts often have, or one letter, as formulas and programs do.
_OTHER_WORDS = frozenset(
    """
    aan aber aby aceasta acest aceste adalah af ahol akan ako al alebo alla als amb anche ang ano ao aos apa ar att au auch
    auf aus aux av avec ay az bagaimana bahwa bao bei berapa bij bija bila bile bili bilo bir bis ble blev bol bola boli bolo
    bu buvo byl byla bylo byly ca cac cand cata cate cati ce cea cei cele ces cette cfare che cho ci cine com combien como
    cosa cu cua cual cuales cuando cuanta cuantas cuanto cuantos cum czy daha dalam dalla dans dari das dass dat de degli dei
    del della delle dem den dengan der des desde det detta deze dhe di die din dit dla donde dos dov dove duoc dupa durch een
    eg egy ei ein eine einem einen einer eines el ela ele ella elle eller elles ellos els em entre er eram eru es eshte essa
    esse est esta este etait ete ett etta ez foi foram fost fra fran fue fueron gde gdje gdzie gibi gli ha haar hai hanen
    hangi hann hany har hasta heeft het hoe hoeveel hogy hogyan hun hva hvad hvar hvem hver hvilka hvilke hvilken hvilket
    hvor hvorfor hvornar ia ich icin ihr ik ikke il ile ili ils im ima ini inte intre ir isso ist itu iz ja jak jaka jake
    jaki jakie jako jaky je jedan jeg jego jeho jej jest joka jonka jos jsem jsou juga ka kac kad kada kadar kailan kaip kaj
    kako kan kann kao kapan kas katera katere kateri katika kdaj kde kdo kdy ke kedy kell kepada kes khi khong ki kiedy kiek
    kik kimin kje ko koja koje kojem koji kolik koliko kolko ktera ktere ktery kto ktora ktore ktory kui kuin kuinka kuka kun
    kur kus kush kwa la las le lequel les leur lo los lub luc ma maar mai mais mana med meg mellem mellom mely melyik mengapa
    mert met mga mida miert mika mikor millainen millal milloin milyen mis missa mita mot mu mutta muy myos na naar nach nang
    nao nar nas nasil ne nebo neden nedir nel nella nem nerede nereye ng nga nguoi nhu nhung ni nicht nie niet niin ning nini
    nje noch nog non nous nu nur och od oder og olan olarak oldugu oleh oli olivat onde ook op oraz os ou ovat pada par pe
    pel pela pelo pels pentru perche pero piu po por porque pour pourquoi preco pri prin proc przez quais qual quale quali
    quan quand quando quanta quantas quante quanti quanto quantos que quel quelle quelles quels quem questa questo qui quien
    quienes quin quina quins quoi saan saat sau sebagai see sein seine sem ses seu siapa sich sie sig siita sind sino sobre
    som son sono sonra sont stata stato sto sua sunt suo tama te tego telah tem thi tidak til tko tot tra trong uber uit um
    uma un una und unde une unei uno unos unter untuk unui uz va vad vaere vagy vai van vao ve ved veel vem veya vid vilka
    vilken vilket voce voi volt voltak vom von voor vor vous wa waar waarom wann wanneer wapi war waren warum wat welche
    welchem welchen welcher welches welk wenn wer werd werden wie wieviel wird wo worden wordt wurde wurden yake yang yra za
    zaman zasto zich zij zijn zu zum zur zwischen
    """.split()
)
# "Who" in Turkish and Hungarian, and names in English, so that they tell no language.
_NAMES_TOO = frozenset("kim kimi kime ki".split())
# Of other scripts, where no word is English.
_OTHER_SCRIPTS = frozenset(
    """
    αν απο για δεν ειναι ενα ενασ η ηταν θα και κατα με μετα μια να ο οι ποια ποιεσ ποιο ποιοι ποιοσ ποσα ποσο ποσοι ποτε που
    πωσ σε στα στη στην στισ στο στον στουσ τα τη την τησ τι τισ το τον του τουσ των ωσ а без был была были было в вы від где
    де для до его ее если же за и из или их к как какая какие каких какого какои какую ко когда кого коли кому кто ли мы на
    над не но о об он она они от по под при с сколько со та так также то у хто це чего чем чи что чтобы що эта эти это этот я
    як яка яке якии які є із או איך איפה אם את גם הוא היא היה היו זה זו כי כמה לא מה מי מתי על עם של از است التي الذي الى ان
    او اين با براي به بود بين تا در ذلك را على عن في قد كان كانت كجا كم كه كي كيف لا لم لماذا ما ماذا متى متي مع من هذا هذه
    هل هو هي و چرا چه एक और कब कहाँ कहां का कितना कितनी कितने किस किसने की के को कौन क्या तक था थी थे ने पर भी में यह लिए वह
    से है हैं будет будут
    """.split()
)

LEANS = dict.fromkeys(_OTHER_WORDS, -1) | dict.fromkeys(_ENGLISH, 1) | dict.fromkeys(_ENGLISH & _OTHER_WORDS, 0)
"""1 for each function word of English, -1 for those of other languages in Latin letters: a text of less than 0 is not English."""
# "January 12th" is 12 January.
_ORDINALS = ("st", "nd", "rd", "th")
_LATIN_MARKED = regex("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0300-\u036f\u1e00-\u1eff]")
# The first letter's script decides. Others are left as they are written.
_STEMMERS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0531", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
# Latin letters end here.
_LATIN_END = "\u0250"
# A Stemmer must not be used from two threads at once; each thread has its own.
_local = threading.local()


def is_latin(word: str) -> bool:
    return word[0] < _LATIN_END


def says_nothing(run: str, is_english: bool) -> bool:
    """Whether a run is a function word of its language."""
    return run in _OTHER_SCRIPTS or (run in _OTHER_WORDS | _NAMES_TOO and not is_english)


def is_marked(text: str) -> bool:
    """Whether a text has Latin letters that English has not."""
    return not text.isascii() and _LATIN_MARKED.search(text) is not None


def stem(word: str) -> str:
    """By the stemmer of its script; in Latin letters by that of English, as a name is in all languages. A number as it is."""
    first = word[0]
    if first.isdigit() and word.endswith(_ORDINALS) and word[:-2].isdigit():
        return word[:-2]
    if word.isdigit():
        return word
    language, stemmers = "english", _local.__dict__
    if first >= _LATIN_END:
        language = next((name for begin, end, name in _STEMMERS if begin <= first <= end), "")
    if not language:
        return word
    stemmer = stemmers.get(language) or stemmers.setdefault(language, Stemmer.Stemmer(language))
    return str(stemmer.stemWord(word)) or word


def grams(word: str, step: int = GRAM_STEP) -> list[str]:
    """Stretches of four characters of a word, of which the first and the last say so; nothing for a short one or a number."""
    if len(word) < _GRAMS_OF_MIN or (not word.isalpha() and any(map(str.isdigit, word))):
        return []
    bounded = f"_{word}_"
    return [GRAM + bounded[i : i + _GRAM_CHARACTERS] for i in range(0, len(bounded) - _GRAM_CHARACTERS + 1, step)]


NAMED = "_"
"""Behind a word that is a name."""

# Each pattern begins with a capital, which is quickly looked for.
_CAPITALS = regex(r"[A-Z](?<![\w.:/@&'’-][A-Z])[A-Z]{0,6}(?![\w'’+#]|[.:/@&-]\w)(?:[ ,/&]{1,2}[A-Z]+(?!\w)){0,12}")
_CAPITAL = regex(r"[A-Z]+")
# More capitals side by side are a shout, and tell nothing.
_CAPITALS_MAX = 2
_TITLED = regex(r"[A-Z](?<=[a-z] [A-Z])[a-z]{1,6}(?= [a-z]|[.?!,;]|$)", re.MULTILINE)
# They open a sentence before no verb, unless they are names.
_HOMONYMS = ("Will ", "Can ", "An ", "Do ", "My ", "On ")
_HOMONYM = regex(
    r"[WCADMO](?<!\w.)(?:(?<=W)ill|(?<=C)an|(?<=A)n|(?<=D)o|(?<=M)y|(?<=O)n)"
    r"(?= (?:[a-z]{2,20}ed|is|was|has|had|can|could|says|said|went|works|runs|owns|leads|likes|lives|and)\b)"
)
_OPENING_VOWELS = frozenset("AEIOUY")
# A letter of another alphabet: in capitals behind a word, or Greek behind a word that is not.
_LETTER = regex("[^\x00-\x7f](?<=[^\\W\\d_])(?<=\\w [^\x00-\x7f])(?![\\w'’]|[.:/@&-]\\w)")
_GREEK = regex("[α-ω](?<=[a-z] [α-ω])(?!\\w)")
_HUMP = regex(r"[A-Z](?<=[a-z][A-Z])[a-z]")
HUMPS = regex(r"(?<=[a-z0-9])(?=[A-Z])")
"""Where getUserById parts."""
_WORD_CHARACTERS_MAX = 64
# Of ASCII: capitals, small letters, spaces, and all else. Whether a text has anything to look for shows in it at once.
_SHAPES = bytes(
    ord("A" if chr(code).isupper() else "a" if chr(code).islower() else " " if code == 32 else ".") for code in range(128)
)
_SHAPES += bytes(128)
_SENTENCE_ENDS = frozenset('.!?:\n\x1e"“(')


def with_names(text: str) -> str:
    """The text with a mark behind each name that is written like one of `STOP_WORDS` or is a letter, and with what humps part."""
    is_ascii = text.isascii()
    shape = text.encode().translate(_SHAPES) if is_ascii else b""
    if not is_ascii or b"aAa" in shape:
        # With the parts of each word in camel case behind it.
        pieces: list[str] = []
        end = 0
        for hump in _HUMP.finditer(text):
            if hump.start() < end:
                continue
            first, last = _word_around(text, hump.start())
            word = text[first:last]
            if last - first <= _WORD_CHARACTERS_MAX and word[:2].islower():
                pieces += [text[end:last], " ", HUMPS.sub(" ", word)]
                end = last
        text = "".join([*pieces, text[end:]]) if pieces else text
        shape = text.encode().translate(_SHAPES) if is_ascii else b""
    if not is_ascii or b"A" in shape.replace(b"Aa", b""):
        text = _CAPITALS.sub(_capitals, text)
    if any(word in text for word in _HOMONYMS):
        text = _HOMONYM.sub(_marked, text)
    if not is_ascii or b"a Aa" in shape:
        text = _TITLED.sub(lambda match: _marked(match) if match[0].lower() in STOP_WORDS else match[0], text)
    if is_ascii:
        return text
    return _GREEK.sub(_marked, _LETTER.sub(lambda match: _marked(match) if match[0].isupper() else match[0], text))


def _marked(match: re.Match[str]) -> str:
    return f"{match[0]}{NAMED}"


def _capitals(match: re.Match[str]) -> str:
    run = match[0]
    if len(run) > 1 and run.isalpha():
        return _marked(match) if run.lower() in STOP_WORDS else run
    if len(_CAPITAL.findall(run)) > _CAPITALS_MAX:
        return run
    # Whether a sentence begins here, as far as the signs before it tell.
    start = match.start()
    before = match.string[max(0, start - 2) : start].rstrip(" ")
    opens = not before or before[-1] in _SENTENCE_ENDS
    return _CAPITAL.sub(lambda word: _marked(word) if _is_named(word[0], opens=opens and word.start() == 0) else word[0], run)


def _is_named(word: str, *, opens: bool) -> bool:
    if len(word) > 1:
        return word.lower() in STOP_WORDS
    return word != "I" and not (opens and word in _OPENING_VOWELS)


def _word_around(text: str, place: int) -> tuple[int, int]:
    first = last = place
    while first > 0 and place - first <= _WORD_CHARACTERS_MAX and text[first - 1].isalnum():
        first -= 1
    while last < len(text) and last - place <= _WORD_CHARACTERS_MAX and text[last].isalnum():
        last += 1
    return first, last
