"""The gate: which facts leave home. Decides and says why, in words for a person; touches nothing.

A fact held back stays its agent's, found by it as before. A gate that is unsure keeps the fact home: once it has left, it can't
be called back from its readers. Facts the hive knows already pass like any other, because they confirm.

A text of nothing but words that mean nothing without their context is not worth sharing.

The second gate: a judge's ruling on facts that the first one would let through. Without one, everything it lets through goes.

    stored ─gate─▶ held back "awaiting judgement" ─review─▶ shared, or held back with the reason
                   (only its agent finds it)

An outbox must never wait for a model or a person while it settles. So a review returns the rulings it knows at once, is given the
other facts, and has them looked at again when it knows.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.disguises import forms_of
from hive_mind.memory.gate.instructions import instruction_in
from hive_mind.memory.gate.sensitive import sensitive_in
from hive_mind.model.evidence import TEXTS, names_of, texts_of
from hive_mind.model.fact import KEPT_HOME, Fact
from hive_mind.regex import regex

_ENGLISH = (
    "a about absolutely actually afaik again ago agree ah aha all already alright alrighty and any anybody anyhow anyone "
    "anything anyway are as asdf at bar baz bcs be been believe best better bit blah both bother brb bro buddy but by bye can "
    "can't case catch check cheers come congrats congratulations cool could cuz damn day dear did didn't do does doesn't don't "
    "done dont dude dunno eh either else end enough etc evening ever everyone everything exactly feel fine first folks foo for "
    "from fun funny fyi get give given glad go gonna good goodbye gosh got gotta great guess guys had haha hang happen happens "
    "happy has have he he's hear hell hello her here hey hi him hm hmm hold honestly hope hopefully hours how however huh i i'd "
    "i'll i'm i've idea idk if iirc im imo in indeed into is isn't it it's its joke just kidding kinda know last later least "
    "less let let's like little ll lmao lol long look looks lot lots lovely man mate matter may maybe me mean meh might mind "
    "morning much my nah need never next nice night no nobody nope not nothing np nvm of oh ok okay omg one ooh oops or our "
    "over own part perfect perhaps please pleasure pls point pretty probably quick qwerty qwertz random rather re ready really "
    "rest right rofl same say sec second see seem seems sense she she's should since sis so some somebody somehow someone "
    "something somewhat somewhere soon sorry sort sounds still stuff such sure talk tbc tbd tbh tell test tgif than thank "
    "thanks that that's the them then there they they'll they're thing things think this tho those thought through thx till "
    "time to today todo tomorrow too totally true try trying ttyl u ugh uh um under understand until up use used ve very wait "
    "wasn't way we we'll we're weird welcome well welp were what whatever when who whole why will with won't work works worries "
    "worry would wow wrong ya yay yeah yep yes yesterday yet yikes yo you you're your yup "
)
_OTHERS = (
    "abbiamo abend aber acaso accord ach acho achso adiós ahnung ahora ai ainda al algo ali alla aller alles allora allí alors "
    "also am amanhã an anche anda andare aqui aquí assim así até au auch auf aujourd aus aussi aux avec avez avoir avons ayer "
    "bah beaucoup bei beleza bem ben bene bestimmt bien bin bis bist bitte bla boa bof boh bom bon bonjour bonsoir buenas bueno "
    "buenos buonasera buongiorno c c'est ca car ce ceci cela certo ces cet cette che chi chose ciao claro coisa com comme "
    "comment como con cosa cosas così creo cual cuando d'accord da dai dal dank danke dann dans das davvero de dei del della "
    "delle demain denke denn der des di dia dich diciamo die dir dire doch domani donc donde dormir dos dove du días e ecco "
    "egal ein eine einfach el elle en enfin então er era eres es esa esas esatto ese eso esos essa esse est esta este esto "
    "estou estoy está están estás estão et etwas eu euch euh exactement fa faire fais fait fare fatto faz fazer faço fez "
    "figurati fixe foi forse fue für gar gehen geht genau genial gern gerne gestern gibt giorno giro già glaub glaube gracias "
    "grazie gruß grüße gut ha hab habe haben hace hacer hai hallo halt hanno hast hay hein heute hier ho hoje hola hombre hoy "
    "hui ich ieri igual ihr il ils insomma io ir irgendwas irgendwie isso ist isto ja jaja je jetzt jo joa journée já kann "
    "kannst kein keine klar können la le les leur lo lui là lá lì ma mach machen macht mag magari mah mais mal mas mañana mehr "
    "merci mes mesmo mich mir mismo mit moi moin moins molto mon morgen muchas muito muy más müsste na nada nas ne nein nel nem "
    "nen nessun ni nicht nichts niente noch noche noite non nos nous nul nun nur não né o obrigada obrigado oder oggi olá on "
    "onde ontem ou ouais oui par para pas passe passt per perché pero però peu peut peut-être più plus pois por pouco pour "
    "prego prima problema problème près pues pá qua qual qualcosa quale qualquer quand quando quasi que quella quello quelque "
    "quem questa questo qui quien quindi quizás quoi realmente richtig rien rire roba sa sais salut sans schauen schaun schon "
    "schön schönen se sehen sehr sei sem senti ser sera servus ses si siamo sie siete sim sin sind soirée soll sollte somos son "
    "sono sonst sou souci soy später stimmt suis super sur são sé sì sí só sûr ta tag tal talvez también tampoco tanto tarde "
    "tchau tes tipo tja ton tous tout toute toutes tra tranquilo trop truc très tschüss tu tudo tutto tá tío uma un una und une "
    "ungefähr uns ué va vabbè vai vais vale valeu vamos vas vediamo vemos veremos vermutlich verra verrons verás vez vielen "
    "vielleicht voilà vom von vont vou vous voy vraiment war was weil weiter weitere weiß wenn wie wieder wir wird wirklich "
    "wohl wollen y zu zum zur ça è é és était été être "
)
_WORDS = frozenset(f"{_ENGLISH} {_OTHERS}".replace("-", " ").replace("'", " ").split())


_TAG = regex(r"<[^<>]{1,500}>")
_WORD = regex(r"[^\W_]+")
# Scripts written without spaces: each character is about half a word.
_WITHOUT_SPACES = regex(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a fact is shared; if not, `reason` says why, as a clause: "its text holds an e-mail address"."""

    is_shared: bool
    reason: str = ""


SHARED = Decision(True)
_CALLED = {"content": "its text", "before": "the text before it", "concept": "its topic"}


def decide(fact: Fact, settings: PromotionSettings) -> Decision:
    """The gate's decision on a fact as it is now."""
    if fact.held_back == KEPT_HOME:
        return Decision(False, KEPT_HOME)
    if settings.is_open:
        return SHARED
    reason = (
        _too_private(fact, settings) or _too_bossy(fact, settings) or _too_doubtful(fact, settings) or _too_poor(fact, settings)
    )
    return Decision(False, reason) if reason else SHARED


def _too_doubtful(fact: Fact, settings: PromotionSettings) -> str:
    if fact.confidence >= settings.confidence_min:
        return ""
    return f"its confidence {fact.confidence:.2f} is below {settings.confidence_min:.2f}"


def _too_poor(fact: Fact, settings: PromotionSettings) -> str:
    statement = _TAG.sub(" ", fact.content.removeprefix(f"{fact.speaker}: "))
    words = _WORD.findall(statement)
    if not any(c.isalpha() for c in statement):
        return "its text has no words"
    solid = sum(not c.isspace() for c in statement)
    if sum(map(len, words)) + _marks(statement) < settings.letters_share_min * solid or len(statement) < len(fact.content) / 3:
        return "its text is mostly symbols or markup"
    # A word said three times says no more than once.
    if len({word.casefold() for word in words}) + len(_WITHOUT_SPACES.findall(statement)) // 2 < settings.words_min:
        return "its text is too short to say something to others"
    if all(word.casefold() in _WORDS for word in words):
        return "its text is small talk"
    return ""


def _marks(text: str) -> int:
    """Vowel signs and accents that are characters of their own: they belong to words, though no pattern calls them so."""
    return 0 if text.isascii() else sum(unicodedata.category(c).startswith("M") for c in text)


def _too_private(fact: Fact, settings: PromotionSettings) -> str:
    for part, text in _travelling(fact):
        kind = sensitive_in(text, credentials=settings.hold_back_secrets, personal=settings.hold_back_personal)
        if kind:
            return f"{part} holds {kind}"
    return ""


def _too_bossy(fact: Fact, settings: PromotionSettings) -> str:
    """A model that is given it might do what it says."""
    if not settings.hold_back_instructions:
        return ""
    for part, text in _travelling(fact):
        statement = text.removeprefix(f"{fact.speaker}: ") if fact.speaker else text
        if rule := next(filter(None, (instruction_in(form, settings.allowed_instructions) for form in forms_of(statement))), ""):
            return f"{part} looks like an instruction (rule {rule})"
    return ""


def _travelling(fact: Fact) -> Iterable[tuple[str, str]]:
    """All that others would get to read, with what to call it."""
    yield from zip((_CALLED.get(name, f"its {name}") for name in TEXTS), texts_of(fact), strict=True)
    # Line by line, so that no two of them make a third.
    yield "a name it mentions", "\n".join(names_of(fact))
    yield "its source", "\n".join(fact.sources)


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision on a fact. `refusal`: why it may not leave home, as a clause; "" where it may."""

    refusal: str = ""


ALLOWED = Ruling()
AWAITING = Ruling("awaiting judgement")


class Review(Protocol):
    """The judge of one agent's facts."""

    def ruling(self, fact: Fact) -> Ruling | None:
        """The decision on it; None where that is not known yet. Does not wait, and raises nothing."""

    def want(self, facts: Sequence[Fact]) -> None:
        """Have these judged; returns at once. When something is decided, `reconsider` their ids."""
