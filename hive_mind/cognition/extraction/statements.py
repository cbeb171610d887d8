"""Statements: which sentences say something worth keeping, and how sure they sound.

Questions, greetings and applause are not facts. Hedged sentences are facts of lower confidence, never dropped: whether
they are good enough to share is decided elsewhere.

Definition lists are made items below items: a term on a line of its own, and behind colons what it means.
"""

import re
from collections.abc import Sequence

from hive_mind.cognition.extraction.stanzas import signed_in
from hive_mind.model.ids import UNSPACED
from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex

_DEFINITION = regex(r"[:~]\s{1,8}(?P<text>[^\s:].*)")
_TERM = regex(r"[^\s#>|*+:~`-][^|]{0,79}")
_ENDS = (".", "!", "?", ":", ";", ",")


def as_items(lines: Sequence[str]) -> Sequence[str]:
    """The lines with each term as an item and its definitions below it."""
    if not any(map(_DEFINITION.match, lines)):
        return lines
    items = list(lines)
    # The line before, and the one before an empty line.
    term: int | None = None
    for place, line in enumerate(lines):
        match = _DEFINITION.fullmatch(line)
        if match is not None and term is not None:
            if not items[term].startswith("- "):
                items[term] = f"- {lines[term]}"
            items[place] = f"  - {match['text']}"
        elif line.strip():
            term = place if _TERM.fullmatch(line) and not line.endswith(_ENDS) else None
    return items


# Ends of sentences in Arabic, Urdu, India, Ethiopia and Armenia; and in scripts that put no space behind them: Han, kana,
# Burmese, Khmer, Tibetan.
STOPS_OF_SCRIPTS, UNSPACED_STOPS = "؟۔।॥።፧։", "。！？｡။។៕།"
SENTENCE_STOPS = tuple(f".!?…{STOPS_OF_SCRIPTS}{UNSPACED_STOPS}")

# The worth of an ordinary sentence before anything speaks for or against it.
_BASE = 0.6
_NAMED = 0.1
_FIGURED = 0.1
_COMPLETE = 0.05
_HEDGED = -0.25
_CONFIDENCE_MIN, _CONFIDENCE_MAX = 0.1, 0.95

_WORDS_MIN = 3
# Han, kana, Hangul, Thai, Lao, Burmese and Khmer are written without spaces, or nearly so; this many characters make a statement.
_UNSPACED_MIN = 5
# A remark this long says something besides being polite.
_FILLER_WORDS_MAX = 7
# "No turbine was harmed" says two things after its opener; "Thanks a lot, Ana" and "Yes, we did" say none or one.
_SAYS_MORE_MIN = 2

# A longer run is no word: base64, a hash dump, a broken file.
_WORD = regex(r"(?<![\w'’-])[^\W\d_][\w'’-]{0,60}(?![\w'’-])")
_RUN = regex(r"\w+")
_UNSPACED = regex(f"[{UNSPACED}]")
_FIGURE = regex(r"\d")
_QUESTION_END = ("?", "？", "؟", "፧", '?"', "?)", "?”")
_HEDGE = regex(
    r"\b(?:may|might|could be|probably|possibly|perhaps|maybe|reportedly|allegedly|supposedly|apparently|"
    r"i (?:think|guess|believe)|not sure|unsure|unclear|rumou?r(?:s|ed)?|"
    r"seems?|appears? to|unconfirmed|estimated?|roughly|presumably|likely|"
    r"as far as i know)\b",
    re.IGNORECASE,
)
_FILLER = regex(
    r"(?:hi|hey|hello|thanks|thank you|thx|ok|okay|sure|yes|yeah|yep|no|nope|great|wow|lol|haha|cool|nice|awesome|amazing|"
    r"good (?:morning|afternoon|evening|night|luck|job)|bye|goodbye|see you|take care|sounds (?:good|great|fun|amazing)|"
    r"congrat\w*|you're welcome|no problem|of course|absolutely|definitely|exactly|totally|agreed|got it|"
    r"that's (?:great|awesome|amazing|wonderful|so cool|cool|nice)|glad to hear|happy to help|let me know|good point|"
    r"same here|me too|a lot|so much|very much)\b[\s,.!…–-]*",
    re.IGNORECASE,
)
# The addressee of a remark: "Ana!" behind an opener, "…, Ana!" at the end.
_ADDRESSED = regex(r"[^\W\d_][\w'’-]{0,40}[,.!]+\s*")
_ADDRESSED_LAST = regex(r",\s*[^\W\d_][\w'’-]{0,40}[.!…]*$")
# A plain "Name: value" or a row of a table is short and still a fact; so is "Total    1,210.94", where spaces make the columns.
# "Total due 243.60"
_SUM = regex(r"[^\W\d_][^\d\n:|]{1,40}\s[^\w\s]?\d[\d.,']{0,12}[.,]\d\d(?:\s?[^\w\s]|\s[A-Z]{3})?")
_TIMED = regex(r"\d{1,2}[:.]\d\d\s?[-–—]\s?\d{1,2}[:.]\d\d\s{1,4}[^\W\d_]{3}")
_KEYED = regex(r"[^\s:|][^:|]{0,60}?(?::\*{0,2}\s|：|=|\||\s{3}|\.{4})\s*\S")


# A question in a chat has no mark at its end more often than not.
_ASKING = regex(
    r"(?:(?:so|and|but|hey|also|ok(?:ay)?|then)\b,?\s+)*"
    r"(?:who(?:['’]s)?|whom|whose|what(?:['’]s)?|when|where(?:['’]s)?|which|how|why)\b[^.!:;]*$",
    re.IGNORECASE,
)
# Asking by a statement.
_WONDERING = regex(
    r"(?:(?:so|and|but|hey|hi|well|hm+)\b,?\s+)*(?:i wonder|i(?:['’]m| am| was) (?:just )?wondering|"
    r"i(?:['’]d| would) like to know|(?:does|do|can|could|would) (?:anyone|anybody|someone|somebody|you) (?:know|tell|remember)|"
    r"ich frage mich|ich wüsste gern|wei(?:ß|ss) (?:jemand|wer)|je me demande|me pregunto|mi chiedo)\b[^.!?]*+[.!?…]*",
    re.IGNORECASE,
)
# Asking somebody to say something, which says nothing: no figure, no span of time, and no colon, behind which it may stand.
_REQUESTING = regex(
    r"(?:(?:so|and|but|then|also|okay?|yes|thanks|thank you|hey|hi)\b,?\s+)*+"
    r"(?:(?:please|just|bitte|(?:can|could|would|will) you)\s+(?:also |just |then |please |at least |next time ){0,2})?"
    r"(?:(?:(?:tell|give|send|text|show|read) (?:me|us)|let (?:me|us) know|"
    r"remind (?:me|us) (?:of|about|when|where|wh\w{1,3}|how)|"
    r"(?:repeat|restate|clarify|summari[sz]e|recap|list) "
    r"(?:the|that|those|these|all|my|our|your|his|her|their|it|only|wh\w{1,3}|how)|"
    r"read (?:back|(?:that|it|the|those)\b.{0,60} back)|confirm (?:whether|if|wh\w{1,3}|how|the|that|my|our))\b|"
    r"(?:sag(?:t|en sie)?|nenn(?:t|en sie)?|gib|schick(?:en sie)?|erinner[et]?|verrat[et]?) (?:mir|uns|mich|bitte)\b|"
    r"(?:dis|dites|donne|donnez|rappelle|rappelez|envoie|envoyez)-(?:moi|nous)\b|"
    r"(?:dime|dinos|dame|danos|recuérd[ae](?:me|nos)|env[ií]ame|dimmi|dicci|dammi|ricord(?:ami|aci)|mand(?:ami|aci))\b)"
    r"(?!.{0,300}\b(?:by|bis|minutes?|hours?|days?|weeks?|months?|daily|weekly)\b)[^\d:.!?]{0,300}[.!]?",
    re.IGNORECASE,
)
_STOPS = (".", "!", "。", "！", "۔", "।", "።")
# In Thai, Lao, Khmer and Burmese, where it stands at the end more often than not; some are parts of other words elsewhere. In
# Chinese, and in Korean with the polite end of the verb.
_ASKING_UNSPACED = regex(
    "(?:ที่ไหน|ตรงไหน|อะไร|ใคร|เมื่อ(?:ไหร่|ไร|ใด)|เท่า(?:ไหร่|ไร|ใด)|ทำไม|อย่างไร|ยังไง|หรือ(?:ไม่|เปล่า)"
    "|ຫຍັງ|ຢູ່ໃສ|ໃຜ|ເມື່ອໃດ|ເທົ່າໃດ|ແນວໃດ|ຍ້ອນຫຍັງ|ນຳໃຜ"
    "|ឯណា|ទីណា|នរណា|អ្នកណា|ពេលណា|យ៉ាងណា|ប៉ុន្មាន|ដូចម្តេច|ហេតុអ្វី|អ្វី"
    "|ဘယ်(?:အချိန်|လောက်|တော့|မှာ|နေရာ|လို|သူ|နှစ်|နှ)|ဘာကြောင့်|ဘာလို့|ဘာ(?=လဲ|နည်း))(?:လဲ|နည်း|သလဲ|သနည်း)?"
    "|什[么麼](?:[时時]候)?|哪[里裡儿個个位]?|多少|几[个個张位次]|幾[個張位次]|[谁誰]|怎[么麼][样樣]?|[为為]什[么麼]|[吗嗎]"
    "|누구|누가|무엇|언제|어디|얼마나?|어떻게|어느|무슨|(?<= )(?:몇|왜)(?= )|(?:습|[가-힣])니까(?=[\\s?]*$)|나요(?=[\\s?]*$)"
    "|(?:กี่|ไหน|ไหม|ໃສ|ໃດ|ບໍ|ណា|ទេ|လား|လဲ|နည်း)(?=[\\s?!។။]*$)"
)

# "[label]: address", which Markdown keeps apart from the sentence that has the link.
_LINK = regex(r"\[[^\]\n]{1,200}\]:\s+\S+(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^)\n]*\)))?$")
# Pictures, such as the badges of a project, each of which may lead somewhere.
_PICTURES = regex(r"(?:\[?!\[[^\]\n]{0,200}\]\([^()\s]{0,400}\)(?:\]\([^()\s]{0,400}\))?\s{0,9}){1,60}")


def is_question(sentence: str) -> bool:
    """Whether somebody asks something, with a mark at its end or without."""
    text = sentence.strip()
    if text.endswith(_QUESTION_END) or _WONDERING.fullmatch(text):
        return True
    return not text.endswith(_STOPS) and _ASKING.match(text) is not None


def is_request(sentence: str) -> bool:
    """Whether somebody is only asked to tell, repeat or confirm something."""
    return _REQUESTING.fullmatch(sentence.strip()) is not None


def without_asking(question: str) -> str:
    """A question without the words that ask, where no spaces tell them from others."""
    return _ASKING_UNSPACED.sub(" ", question)


def is_link(line: str) -> bool:
    """Whether a line says only where a link of its text leads, or shows pictures alone."""
    return _LINK.match(line.strip()) is not None or _PICTURES.fullmatch(line.strip()) is not None


def is_polite(remark: str) -> bool:
    """Whether a remark greets, thanks, applauds or agrees, and says nothing else."""
    return _FILLER.match(remark.strip()) is not None and not _says_more(remark.strip())


def is_brief_statement(sentence: str) -> bool:
    """Whether a few words are a whole sentence, such as "Restart chrony."; what it means depends on what it hangs on."""
    text = sentence.strip()
    return text.endswith(_STOPS) and bool(_WORD.search(text)) and not is_polite(text)


def is_terse_statement(sentence: str) -> bool:
    """Whether two words are a sentence, as they are in languages without articles: "Насос работает."."""
    is_other = sentence.isascii() or not sentence.endswith(_STOPS) or "," in sentence
    return not is_other and len(_WORD.findall(sentence)) == _WORDS_MIN - 1


def is_statement(sentence: str) -> bool:
    """Whether a sentence says something that can be kept."""
    text = sentence.strip()
    if text.endswith(_QUESTION_END) or _WONDERING.fullmatch(text) or is_link(text):
        return False
    if _KEYED.match(text.lstrip("| ")) and _FIGURE.search(text):
        return True
    if _SUM.fullmatch(text) or _TIMED.match(text):
        return True
    if signed_in(text):
        return True
    words = _WORD.findall(text)
    if len(_UNSPACED.findall(text[:200])) >= _UNSPACED_MIN:
        return True
    if len(words) < _WORDS_MIN:
        return bool(_KEYED.match(text.lstrip("| "))) and len(_RUN.findall(text)) >= _WORDS_MIN - 1
    return len(words) > _FILLER_WORDS_MAX or not _FILLER.match(text) or _says_more(text)


def _says_more(remark: str) -> bool:
    """Whether a short remark that opens politely goes on to say something."""
    rest = _ADDRESSED_LAST.sub("", remark)
    while opener := _FILLER.match(rest):
        rest = rest[opener.end() :]
        if addressed := _ADDRESSED.match(rest):
            rest = rest[addressed.end() :]
    return len(set(tokenize(rest))) >= _SAYS_MORE_MIN


def confidence_of(sentence: str, entities: Sequence[str]) -> float:
    """How sure a statement sounds, in [0, 1], two decimals: names and figures speak for it, hedges against it."""
    confidence = _BASE
    confidence += _NAMED if entities else 0
    confidence += _FIGURED if _FIGURE.search(sentence) else 0
    confidence += _COMPLETE if len(_WORD.findall(sentence)) > _WORDS_MIN else 0
    # "May 8" is a date; only the verb hedges.
    confidence += _HEDGED if any(match.group() != "May" for match in _HEDGE.finditer(sentence)) else 0
    return round(min(_CONFIDENCE_MAX, max(_CONFIDENCE_MIN, confidence)), 2)
