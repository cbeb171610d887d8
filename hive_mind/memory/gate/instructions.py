"""Text that is made to be obeyed: commands to a model, or words in the name of another agent or of an office.

Each rule has a name, which a reason gives and by which a person switches it off (`promotion.allowInstructions`). Rules look at
words alone, in English and, for orders to a model, in German, French, Spanish, Italian and Portuguese, so they know the usual
phrases and miss others. The real protection: facts are data in every prompt, and agents speak for themselves. Every pattern
is bounded.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from hive_mind.memory.gate import RuleName
from hive_mind.regex import regex

_BEGIN = (
    r"(?:^|[.!?¡:;,–—(]\s{0,3}|\b(?:bitte|jetzt|nun|und|dann|stattdessen|s['’]il (?:te|vous) pla[iî]t|maintenant|et|puis|veuillez"
    r"|por favor|ahora|y|luego|per favore|ora|adesso|e|poi|agora|depois)\s)"
)
_NEAR, _CLOSE = r"[^.!?]{0,50}", r"[^.!?]{0,30}"

_IGNORE = (
    r"(?:ignorier(?:e|t|en sie)?|vergiss|vergesst|vergessen sie|missachte(?:t|n sie)?|verwirf|verwerfen sie"
    r"|überschreibe?|umgehe?|brich"
    r"|halte? dich nicht(?: mehr)? an|ne respecte[zr]?|ne sui(?:s|vez)|dej[ae] de (?:seguir|obedecer)"
    r"|no sigas?(?: más)?|non seguire|non seguite|não siga[ms]?|deixe de seguir|ignore[zr]?|oublie[zr]?|néglige[zr]?"
    r"|ne (?:tiens|tenez)(?: pas| plus)? compte|fai(?:s|tes)"
    r" abstraction|écarte[zr]?|outrepasse[zr]?|contourne[zr]?|passe[zr]? outre|désobéis(?:sez)?|ignor[ae](?:d|n|te|re"
    r"|m|r)?|ignori"
    r"|olvida(?:d|te)?|olviden?|descart[ae]|haz caso omiso|no (?:hagas|haga) caso|desobedece|omite|anul[ae]|sáltate"
    r"|dimentica(?:te|re)?|scarta|trascura|non (?:tenere|tenete) conto|aggira|esque[çc]a[ms]?|esquece"
    r"|desconsider[ae]m?|desobedeça)"
)
_RULES_NAMED = (
    r"\b(?:anweisung\w{0,3}|instruktion\w{0,3}|regeln?|vorgaben?|richtlinien?|befehle?n?|consignes?|instructions?"
    r"|règles?|directives?"
    r"|ordres?|instrucci[oó]n(?:es)?|reglas?|directrices|[oó]rdenes|indicaciones|istruzion[ei]|regol[ea]|direttiv[ea]|ordini"
    r"|indicazioni|instru[çc](?:ões|ão)|regras?|diretrizes|ordens|prompts?)\b"
)
_PRIOR = (
    r"\b(?:bisher(?:ig\w{1,2})?|vorher(?:ig\w{1,2})?|vorig\w{1,2}|vorangegangenen?|vorangehenden?|früheren?"
    r"|obig\w{1,2}|zuvor|oben"
    r"|précédente?s?|antérieure?s?|ci-dessus|plus haut|avant|anterior(?:es|i|e)?|previ[ao]s?|de arriba|precedent[ei]"
    r"|di prima|sopra"
    r"|acima|prévi[ao]s)\b"
)
_YOURS = (
    r"\b(?:deine?[nrs]?|eure?[nrs]?|ihren?|tes|vos|ton|votre|tus?|sus|tuoi|tue|tuas?|vostr[ei]|suas?|teus?)\s(?:\w{1,20}\s){0,2}"
)
_ALL_BEFORE = (
    r"\balles,? was\b|\balles (?:vorherige|bisherige|frühere|davor|obige)|\btout ce (?:qui précède|qu)|\btodo lo (?:anterior|que)"
    r"|\b(?:tutto )?(?:quanto|quello) (?:che )?(?:precede|sopra|ti|vi)|\btudo (?:acima|o que)"
)
_MODEL = (
    r"(?:\w{0,12}assist[ae]n[tz]\w{0,3}|\w{0,12}modell\w{0,2}|modèles?|modelos?|ki|ia|agente?[sn]?|chatbot|bot|dan"
    r"|asistente|llms?|ai"
    r"|intelligence artificielle|inteligencia artificial|inteligência artificial|intelligenza artificiale)\b"
)
_PERSON = (
    r"\b(?:(?:be)?nutzer\w{0,3}|anwender\w{0,3}|betreiber\w{0,3}|user|utilisateur\w{0,3}|opérateur\w{0,3}"
    r"|usuari[oa]s?|operador\w{0,2}|utent[ei]|operator[ei]|usuári[oa]s?|utilizador\w{0,2})\b"
)
_OWN = (
    r"(?:\bsystem-?\s?prompt\b|\bprompt (?:système|del? sistema|di sistema|do sistema)|\b(?:deine[nr]?|ihre[nr]?|ta"
    r"|tes|votre|vos|tus?|su"
    r"|la tua|le tue|tua|tuas|sua|suas) (?:\w{1,20} )?(?:anweisungen|instruktionen|speicher|gedächtnis|prompt|mémoire"
    r"|instructions"
    r"|consignes|memoria|instrucciones|istruzioni|memória|instruções)\b|\b(?:alles|alle), was du\b"
    r"|\balle (?:geheimnisse|passwörter)\b"
    r"|\btout ce que (?:tu|vous)\b|\btous les secrets\b|\btodo lo que (?:sabes|recuerdas)|\btodos los secretos\b"
    r"|\btutto (?:quello|ciò)"
    r" che (?:sai|ricordi)|\btutti i segreti\b|\btudo o que (?:você )?(?:sabes?|lembras?)|\btodos os segredos\b)"
)
_ANSWER = r"(?:antworte(?:t|n sie)?|réponds|répondez|responde[dr]?|respondan?|conteste|contesta|rispondi|rispondete|responda)"
_ONLY = (
    r"(?:\s(?:mit|dass|par|que|con|che|com)\b|[^.!?]{0,50}?\b(?:nur|immer|stets|ausschließlich|künftig|seulement|uniquement|toujours"
    r"|s[oó]lo|siempre|únicamente|soltanto|sempre|solamente|apenas|somente|mit dem wort|par le mot|con la palabra|con la parola"
    r"|com a palavra)\b)"
)
_SAY = (
    r"(?:sage?|sagt|sagen sie|antworte\w{0,2}|behaupte|dis|dites|réponds|répondez|affirme|di|diga|responde|responda"
    r"|contesta|dí|dì|di['’]"
    r"|rispondi|dici|diz|afirme)\b"
)
_FROM_NOW_ON = (
    r"\b(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|fortan|désormais|dorénavant|à partir de maintenant|a partir de ahora"
    r"|de(?:sde)? ahora en adelante|d['’]ora in (?:poi|avanti)|da (?:ora|adesso) in poi|a partir de agora"
    r"|de agora em diante|doravante),?\s"
)
_DO = (
    r"(?:bist du|antworte\w{0,2}|sollst du|musst du|wirst du|tu |vous |réponds|répondez|ne |eres|responde|contesta"
    r"|debes|actúa|nunca"
    r"|siempre|sei|rispondi|devi|agisci|non |sempre|mai |você|responda|deves?|aja)"
)
_OFFICE = (
    r"(?:(?:der|die|le|la|l['’]|el|il|lo|o|a) ?)?(?:moderator\w{0,2}|modérat(?:eur|rice)|moderador\w?|moderatore"
    r"|(?:system)?administrator\w{0,2}"
    r"|administrat(?:eur|rice)|administrador\w?|amministratore|admin|betreiber|entwickler|développeur|desarrollador|sviluppatore"
    r"|desenvolvedor|agente? \w{1,40})"
)

ORDERS = {
    "ignore-instructions": rf"{_BEGIN}{_IGNORE}\b{_NEAR}?(?:{_RULES_NAMED}{_CLOSE}?{_PRIOR}|{_PRIOR}{_CLOSE}?{_RULES_NAMED}"
    rf"|{_YOURS}{_RULES_NAMED}"
    rf"|\b(?:alle|toutes|todas|tutte|todas) (?:\w{{1,4}} )?{_RULES_NAMED}|{_ALL_BEFORE})"
    rf"|{_BEGIN}(?:beachte|beachten sie|befolge|befolgen sie|folge|folgen sie){_NEAR}?{_RULES_NAMED}{_CLOSE}?\bnicht\b"
    r"|\b(?:du hast|ihr habt|sie haben|tu n['’]as|vous n['’]avez|(?:ya no )?tienes|ya no tiene|non hai|você não tem|já não tens)"
    r"[^.!?]{0,25}?\b(?:keine (?:einschränkungen|regeln|grenzen) mehr|plus (?:aucune|de) (?:restrictions?|règles?|limites?)"
    r"|(?:más )?restricciones|(?:più )?(?:restrizioni|limiti)|(?:mais )?restrições)\b",
    "role-marker": rf"^[#\s]{{0,8}}(?:système|sistema)\s?:\s?(?:tu|vous|tú|usted|voc[êe]|{_IGNORE})\b",
    "new-role": r"\b(?:du bist|sie sind|tu es|vous êtes|eres|usted es|sei|você é|tu és)"
    r"(?: (?:jetzt|nun|ab jetzt|maintenant|désormais|à présent|ahora|ora|adesso|agora))?"
    rf" (?:ein|eine|der|die|un|une|una|um|uma|el|il|o)?[ '’]?(?:\w{{1,20}} ){{0,3}}?{_MODEL}"
    r"|\b(?:du bist|tu es|vous êtes|eres|sei|estás|você (?:é|está)) (?:jetzt|nun|maintenant|désormais|ahora|ora|adesso|agora)"
    r" (?:im|en|in|em) (?:\w{1,20} )?\w{0,20}(?:modus|mode|modo|modalità)"
    rf"|{_FROM_NOW_ON}{_DO}"
    rf"|{_BEGIN}(?:tu so,? als|verhalte dich|gib dich (?:als|für)|spiele? die rolle|agis comme|agissez comme|comporte-toi"
    r"|comportez-vous|fai(?:s|tes) comme si|fais semblant|joue[rz]? le rôle|actúa como|compórtate|finge que"
    r"|haz como si|hazte pasar"
    r"|comportati|agisci come|fingi di|fai finta|interpreta il ruolo|aja como|finja|comporte-se|comporta-te|faça de conta)\b"
    r"|\bdu musst (?:immer|stets|nie|niemals|gehorchen)\b|\btu dois (?:toujours|obéir)\b|\bdebes (?:siempre|obedecer)\b"
    r"|\bdevi (?:sempre|obbedire|ubbidire)\b|\b(?:você )?deves? (?:sempre|obedecer)\b",
    "how-to-answer": rf"{_BEGIN}{_ANSWER}{_ONLY}"
    r"|\b(?:wenn|falls|sobald|si|quand|lorsque|chaque fois qu['’e]|cuando|cada vez que|se|quando|ogni volta che|sempre que)\b"
    rf"{_NEAR}?(?:frag|demand|interrog|pregunt|chied|domand|pergunt)\w{{0,5}}\b[^.!?]{{0,60}}?,\s?{_SAY}"
    r"|\bin (?:deine[r]?|jede[r]?) (?:nächste[n]? )?antwort\b|\bdans (?:ta|chaque|toutes tes) (?:prochaine )?réponses?\b"
    r"|\ben (?:tu|cada) (?:próxima )?respuesta\b|\b(?:nella tua|in ogni) (?:prossima )?risposta\b|\b(?:na tua"
    r"|em cada) (?:próxima )?resposta\b",
    "keep-from-people": rf"\b(?:sage?|sagen sie|verrate|verraten sie|erzähle?|erwähne"
    rf"|zeige?){_CLOSE}?{_PERSON}{_CLOSE}?\b(?:nicht|nichts"
    rf"|nie|niemals)\b|\b(?:nichts?|nie(?:mals)?){_CLOSE}?{_PERSON}(?: sagen| verraten)"
    rf"|\bne (?:le |lui |leur )?(?:dis|dites|révèle[rz]?|mentionne[rz]?|montre[rz]?|parle[rz]?)\b{_NEAR}?{_PERSON}"
    rf"|\b(?:no|nunca|jamás) (?:le |les |se lo )?(?:digas?|reveles?|menciones?|muestres?|cuentes?)\b{_NEAR}?{_PERSON}"
    rf"|\b(?:non|mai) (?:dire|dite|rivelare|rivelate|menzionare|mostrare|parlare)\b{_NEAR}?{_PERSON}"
    rf"|\b(?:não|nunca|jamais) (?:digas?|reveles?|menciones?|mostres?|contes?)\b{_NEAR}?{_PERSON}",
    "give-out": rf"{_BEGIN}(?:gib|geben sie|zeige?|zeigen sie|verrate|sende|schicke?|schick|nenne|liste|drucke"
    rf"|wiederhole|kopiere|veröffentliche"
    r"|révèle[rz]?|affiche[rz]?|montre[rz]?|envoie|envoyez|répète|répétez|donne[rz]?|publie[rz]?|copie[rz]?|revela"
    r"|muestra|envía|imprime"
    r"|repite|copia|publica|dame|enumera|rivela|mostra|invia|stampa|ripeti|pubblica|revele|mostre|envie|imprima"
    r"|repita|copie|publique)"
    rf"\b{_NEAR}?{_OWN}",
    "use-tool": rf"{_BEGIN}(?:rufe? (?:das|die) (?:tool|werkzeug|funktion)|nutze deine (?:tools|werkzeuge)"
    rf"|führe (?:den |die |das )?folgende"
    r"|appelle[rz]? (?:l['’]outil|la fonction)|utilise[rz]? (?:tes|vos) outils|exécute[rz]? (?:ce qui suit|(?:la"
    r"|le) \w{1,15} suivante?)"
    r"|llama a la (?:herramienta|función)|usa tus herramientas|ejecuta (?:lo siguiente|(?:el|la) siguiente)"
    r"|chiama (?:lo strumento|la funzione)"
    r"|usa i tuoi strumenti|esegui (?:quanto segue|(?:il|la) seguente)|chame a (?:ferramenta|função)|use (?:as )?suas ferramentas"
    r"|execute (?:o|a) seguinte)",
    "to-models": r"\b(?:hinweis|anweisung|nachricht|befehl|mitteilung|note|instructions?|consigne|message|ordre|nota"
    r"|instrucci[oó]n(?:es)?"
    r"|mensaje|orden|aviso|istruzion[ei]|messaggio|ordine|instru[çc](?:ão|ões)|mensagem|ordem) (?:an|für|à|aux?|pour"
    r"|a|al|para|per|ai|agli"
    rf"|all['’]|ao|aos|às)[ ]?(?:(?:die|das|den|alle|jede[ns]?|la|le|les|l['’]|tou(?:s|tes)|el|los|las|tod[oa]s|il|i"
    rf"|gli|tutti|o|os|as) ?){{0,3}}{_MODEL}"
    r"|\b(?:deine neue aufgabe|ta nouvelle (?:tâche|mission)|votre nouvelle (?:tâche|mission)|tu nueva (?:tarea|misión)"
    r"|il tuo nuovo compito|(?:a )?(?:tua|sua) nova (?:tarefa|missão))\b",
    "speaks-for-another": rf"\b(?:ich bin|hier spricht|im namen von|je suis|au nom d[eu]|soy|en nombre del?|sono"
    rf"|a nome d(?:i|el)|eu sou|em nome d[eoa])"
    rf" ?{_OFFICE}\b[^.!?]{{0,20}}(?:[:,]\s?(?:ich|ihr|alle|je|vous|tous|yo|todos|io|tutti|eu|{_IGNORE})\b"
    rf"|\b(?:und ich|et je|y (?:yo|ordeno)|e (?:io|ordino|eu|ordeno))\b)",
}

# No order in these languages does without one of them. Most texts have none, and are spared the patterns.
_WORDS_OF_THEIRS = frozenset(
    "der die das den dem du dich dir ihr sie ich ist ein eine einen nicht nur nie alle alles jetzt nun bitte von "
    "und an auf ab im in mit dass wenn deine deinen deiner deines dein ihre ihren eure zu für bin le la les un une "
    "des tu te toi ta tes ton vous vos votre est es ne pas plus tout toutes tous qui que qu à au aux dans par et je "
    "si en s l d c n t el los las lo una uno de del al tus sus su se no ya por con todo toda todas todos y yo soy "
    "eres solo sólo il gli i di da che non sei tua tue tuo tuoi sono e o a uma um os as em não você seu sua suas "
    "seus na nas nos ao às é ".split()
)
_WORD = regex(r"[^\W\d_]+")


def is_elsewhere(text: str) -> bool:
    """Whether a text may be in one of these languages."""
    return not _WORDS_OF_THEIRS.isdisjoint(_WORD.findall(text.lower()))


@dataclass(frozen=True, slots=True)
class Rule:
    """A name, and what a text must have somewhere: in English, or in another language."""

    name: RuleName
    pattern: re.Pattern[str]
    elsewhere: re.Pattern[str]


def _rule(name: RuleName, pattern: str) -> Rule:
    return Rule(name, regex(pattern, re.IGNORECASE), regex(ORDERS[name], re.IGNORECASE))


_ORDERS = r"(?:instructions|rules|guidelines|orders|prompt|training)"
_TOLD = rf"(?:you(?:'ve| have)? (?:were|been|are) (?:told|given|taught)|your (?:\w+ ){{0,2}}{_ORDERS})"
_START = r"(?:^|[.!?:;,]\s{1,3}|\b(?:please|now|and|then|instead)\s)"
_SPEAKER = r"(?:the )?(?:moderator|administrator|admin|operator|system administrator|system|developer|agent \w{1,40})"

RULES = (
    _rule(
        "ignore-instructions",
        rf"{_START}(?:ignore|disregard|forget|discard|override|bypass|stop following)\b"
        rf"(?:[^.!?]{{0,40}}\b(?:previous|prior|earlier|above|everything)\b|[^.!?]{{0,30}}{_TOLD}"
        r"|[^.!?]{0,30}\b(?:you have been given|told you)\b)"
        rf"|{_START}(?:ignore|override|bypass|discard)\s(?:\w+\s){{0,3}}your (?:\w+ )?(?:rules|guidelines|instructions)"
        r"|\byou (?:are|were) no longer bound\b|\byour instructions have changed\b|\boverrides? the system prompt\b"
        r"|\b(?:must|may|shall) not follow the instructions of your\b",
    ),
    _rule(
        "role-marker",
        r"<\|?\s?/?(?:system|im_start|im_end|user|assistant)\b|\[/?INST\]|^[#\s]{0,8}(?:system|assistant|developer)\s?:"
        r"|^(?:assistant|model|ai),\s",
    ),
    _rule(
        "new-role",
        r"\byou are (?:now\b|an? (?:\w+ ){0,3}(?:assistant|model|ai)\b)|\byou will now (?:reply|act|answer|speak)\b"
        rf"|{_START}(?:act as|pretend (?:that you are|to be)|roleplay as)\b|\bas an ai\b[^.!?]{{0,20}}\byou\b"
        r"|\byou must (?:always|never|obey)\b|\bfrom now on,? (?:you|always|never|answer|reply)\b",
    ),
    _rule(
        "how-to-answer",
        rf"(?:^(?:when(?:ever)?|if)\b[^.!?]{{0,80}},\s?|{_START}(?:always |only )?)(?:always |only )?(?:reply|respond|answer)\b"
        r"[^.!?]{0,40}\b(?:with|that|only|as if|yes|no)\b"
        r"|^(?:when(?:ever)?|if)\b[^.!?]{0,40}\b(?:asked?|asks)\b[^.!?]{0,60},\s?(?:always |only )?"
        r"(?:say|answer|reply|respond|tell)\b"
        r"|\bin(?:to)? your (?:next )?(?:answer|reply|response)s?\b|\binto every (?:answer|reply)\b",
    ),
    _rule(
        "keep-from-people",
        r"\b(?:do not|don't|never)\b[^.!?]{0,15}\b(?:tell|mention|reveal|show)\b[^.!?]{0,40}"
        r"\b(?:user|your operator|the operator)\b"
        r"|\bunder no circumstances (?:tell|mention|reveal)\b",
    ),
    _rule(
        "give-out",
        rf"{_START}(?:reveal|print|show|output|repeat|list|send|post|copy|transfer|upload)\b[^.!?]{{0,50}}"
        r"(?:\bsystem prompt\b|\bhidden prompt\b|\byour (?:memory|instructions|prompt)\b|\byou (?:know|remember|give)\b"
        r"|\ball secrets\b)"
        r"|\bdelete (?:it|this|the facts of the other agents)\b",
    ),
    _rule(
        "use-tool",
        rf"{_START}(?:call the tool|use your tools?|run the following|execute (?:this|the following)"
        r"|store this (?:sentence|text|fact) in)\b",
    ),
    _rule(
        "to-models",
        r"\b(?:note|instructions?|message|order) (?:to|for) (?:the |all |every ){0,3}"
        r"(?:ai|assistants?|language models?|models?|agents|llms?)\b"
        r"|\bto the (?:assistant|model|ai) reading this\b|\b(?:ai )?(?:agents|models) (?:that|who) read this\b"
        rf"|{_START}(?:repeat|copy|store|send) this (?:message|text|sentence)?\s?(?:to|in|into) (?:every|all|each)\b"
        r"|\byour new task\b|\byou must obey\b|\bcomply with this text\b",
    ),
    _rule(
        "speaks-for-another",
        rf"\b(?:this is|i am|speaking as|as|on behalf of|in the name of|message from) {_SPEAKER}\b[^.!?]{{0,20}}"
        r"(?:speaking|[:,]\s?(?:i|all|trust|raise|give|print|ignore|the)\b|\bi (?:order|declare|retract|withdraw|take)\b"
        r"|\band i (?:retract|take|withdraw)\b)"
        r"|^i,? the (?:moderator|administrator|operator),|\bin the name of agent \w{1,40}\s?:|^agent \w{1,40} speaking\b"
        rf"|^{_SPEAKER} (?:says|hereby (?:orders?|instructs?))\s?:?\s?(?:you|all agents|every agent)\b"
        r"|\bi am your (?:developer|operator|owner)\b|\bi am the system administrator\b",
    ),
)


def instruction_in(text: str, allowed: Collection[str] = ()) -> str:
    """The name of the first rule that a text breaks, but those that are `allowed`; "" for none."""
    is_foreign = is_elsewhere(text)
    return next((rule.name for rule in RULES if rule.name not in allowed and _breaks(text, rule, is_foreign)), "")


def _breaks(text: str, rule: Rule, is_foreign: bool) -> bool:
    return bool(rule.pattern.search(text) or (is_foreign and rule.elsewhere.search(text)))
