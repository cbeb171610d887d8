"""Languages as terms need them: which stemmer, whether a text is English, and the parts of words that stand in for stems.

Nothing is guessed from statistics, so that each member of a hive comes to the same terms. The script of a word names its stemmer.
Of texts in Latin letters those are English that have more of its function words than of others': of the rest, no stemmer is
chosen, as stretches of four letters ("grams") find more there than the language's own stemmer does (docs/adr/0003-ranking.md).
They also find what stands within a compound, and the same name in another case.
"""

import threading
from collections.abc import Iterable

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
_GRAM_STEP = 2
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
    aan aber aby aceasta acest aceste adalah af ahol akan ako al alebo alla als amb anche ang ano ao aos apa att au auch auf
    aus aux av avec ay az bagaimana bahwa bao bei berapa bij bija bila bile bili bilo bir bis ble blev bol bola boli bolo bu
    buvo byl byla bylo byly ca cac cata cate cati ce cea cei cele ces cette cfare che cho ci com como cosa cu cua
    cual cuales cuando cuanto cuantos cum czy daha dalam dalla dans dari das dass dat de degli dei del della delle dem den
    dengan der des desde det detta deze dhe di die din dit dla donde dos duoc dupa durch een eg egy ei ein eine einem einen
    einer eines el ela ele ella elle eller elles ellos els em entre er eram eru es eshte essa esse est esta este etait ete
    ett etta ez foi foram fost fra fran fue fueron gde gdje gdzie gibi gli ha haar hai hanen hangi hann hany har hasta heeft
    het hoe hogy hogyan hun hva hvad hvar hvem hver hvilke hvilken hvilket hvor hvorfor hvornar ia ich icin ihr ik ikke il
    ile ili ils im ima ini inte intre ir isso ist itu iz ja jak jaka jake jaki jakie jako jaky je jedan jeg jego jeho jej jest
    joka jonka jos jsem jsou juga ka kac kad kada kadar kailan kaip kaj kako kan kann kao kapan kas katera katere kateri
    katika kdaj kde kdo kdy ke kedy kell kepada kes khi khong ki kiedy kiek kik kimin kje ko koja koje kojem koji kolik
    koliko kolko ktera ktere ktery kto ktora ktore ktory kui kuin kuinka kuka kun kur kus kush kwa la las le lequel les leur
    lo los lub luc ma maar mai mais mana med meg mellem mellom mely melyik mengapa mert met mga mida miert mika mikor
    millainen millal milloin milyen mis missa mita mot mu mutta muy myos na naar nach nang nao nar nas nasil ne nebo neden
    nedir nel nella nem nerede nereye ng nga nguoi nhu nhung ni nicht nie niet niin ning nini nje noch nog non nous nu nur
    och od oder og olan olarak oldugu oleh oli olivat onde ook op oraz os ou ovat pada par pe pel pela pelo pels pentru
    perche pero piu po por porque pour pourquoi preco pri prin proc przez quais qual quale quali quan quand quando quanti
    quanto quantos que quel quelle quelles quels quem questa questo qui quien quienes quin quina quins quoi saan saat sau
    sebagai see sein seine sem ses seu siapa sich sie sig siita sind sino sobre som son sono sonra sont stata stato sto sua
    sunt suo tama te tego telah tem thi tidak til tko tot tra trong uber uit um uma un una und unde une unei uno unos unter
    untuk unui uz va vad vaere vagy vai van vao ve ved veel vem veya vid vilka vilken vilket voce voi volt voltak vom von
    voor vor vous wa waar waarom wann wanneer wapi war waren warum wat welche welchem welchen welcher welches welk wenn
    wer werd werden wie wird wo worden wordt wurde wurden yake yang yra za zaman zasto zich zij zijn zu zum zur zwischen
    """.split()
)
# Of other scripts, where no word is English.
_OTHER_SCRIPTS = frozenset(
    """
    αν απο για δεν ειναι ενα ενασ η ηταν θα και κατα με μετα μια να ο οι ποια ποιεσ ποιο ποιοι ποιοσ ποσα ποσο ποσοι ποτε
    που πωσ σε στα στη στην στισ στο στον στουσ τα τη την τησ τι τισ το τον του τουσ των ωσ а без был была были было в вы
    від где де для до его ее если же за и из или их к как какая какие каких какого какои какую ко когда кого коли кому кто
    ли мы на над не но о об он она они от по под при с сколько со та так также то у хто це чего чем чи что чтобы що эта эти
    это этот я як яка яке якии які є із או איך איפה אם את גם הוא היא היה היו זה זו כי כמה לא מה מי מתי על עם של از است التي
    الذي الى ان او اين با براي به بود بين تا در ذلك را على عن في قد كان كانت كجا كم كه كي كيف لا لم لماذا ما ماذا متى متي مع
    من هذا هذه هل هو هي و چرا چه एक और कब कहाँ कहां का कितना कितनी कितने किस किसने की के को कौन क्या तक था थी थे ने पर भी
    में यह लिए वह से है हैं
    """.split()
)

_LEANS = dict.fromkeys(_OTHER_WORDS, -1) | dict.fromkeys(_ENGLISH, 1) | dict.fromkeys(_ENGLISH & _OTHER_WORDS, 0)
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


def leaning(runs: Iterable[str]) -> int:
    """How many more function words of English a text has than of other languages in Latin letters; below 0: it is not English."""
    return sum([_LEANS.get(run, 0) for run in runs])


def says_nothing(run: str, is_english: bool) -> bool:
    """Whether a run is a function word of its language."""
    return run in _OTHER_SCRIPTS or (run in _OTHER_WORDS and not is_english)


def is_marked(text: str) -> bool:
    """Whether a text has Latin letters that English has not."""
    return not text.isascii() and _LATIN_MARKED.search(text) is not None


def stem(word: str) -> str:
    """By the stemmer of its script; in Latin letters by that of English, as a name is in all languages."""
    language, first, stemmers = "english", word[0], _local.__dict__
    if first >= _LATIN_END:
        language = next((name for begin, end, name in _STEMMERS if begin <= first <= end), "")
    if not language:
        return word
    stemmer = stemmers.get(language) or stemmers.setdefault(language, Stemmer.Stemmer(language))
    return str(stemmer.stemWord(word)) or word


def grams(word: str, step: int = _GRAM_STEP) -> list[str]:
    """Stretches of four characters of a word, of which the first and the last say so; nothing for a short one or a number."""
    if len(word) < _GRAMS_OF_MIN or (not word.isalpha() and any(map(str.isdigit, word))):
        return []
    bounded = f"_{word}_"
    return [GRAM + bounded[i : i + _GRAM_CHARACTERS] for i in range(0, len(bounded) - _GRAM_CHARACTERS + 1, step)]
