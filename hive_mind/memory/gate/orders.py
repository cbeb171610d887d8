"""Orders to a model in German, French, Spanish, Italian and Portuguese: patterns by rule, beside the English of `instructions`.

As there: the usual phrases, each bounded, at the beginning of a clause where the same words may also tell of something.
"""

from hive_mind.regex import regex

_START = (
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
_ORDERS = (
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
    "ignore-instructions": rf"{_START}{_IGNORE}\b{_NEAR}?(?:{_ORDERS}{_CLOSE}?{_PRIOR}|{_PRIOR}{_CLOSE}?{_ORDERS}"
    rf"|{_YOURS}{_ORDERS}"
    rf"|\b(?:alle|toutes|todas|tutte|todas) (?:\w{{1,4}} )?{_ORDERS}|{_ALL_BEFORE})"
    rf"|{_START}(?:beachte|beachten sie|befolge|befolgen sie|folge|folgen sie){_NEAR}?{_ORDERS}{_CLOSE}?\bnicht\b"
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
    rf"|{_START}(?:tu so,? als|verhalte dich|gib dich (?:als|für)|spiele? die rolle|agis comme|agissez comme|comporte-toi"
    r"|comportez-vous|fai(?:s|tes) comme si|fais semblant|joue[rz]? le rôle|actúa como|compórtate|finge que"
    r"|haz como si|hazte pasar"
    r"|comportati|agisci come|fingi di|fai finta|interpreta il ruolo|aja como|finja|comporte-se|comporta-te|faça de conta)\b"
    r"|\bdu musst (?:immer|stets|nie|niemals|gehorchen)\b|\btu dois (?:toujours|obéir)\b|\bdebes (?:siempre|obedecer)\b"
    r"|\bdevi (?:sempre|obbedire|ubbidire)\b|\b(?:você )?deves? (?:sempre|obedecer)\b",
    "how-to-answer": rf"{_START}{_ANSWER}{_ONLY}"
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
    "give-out": rf"{_START}(?:gib|geben sie|zeige?|zeigen sie|verrate|sende|schicke?|schick|nenne|liste|drucke"
    rf"|wiederhole|kopiere|veröffentliche"
    r"|révèle[rz]?|affiche[rz]?|montre[rz]?|envoie|envoyez|répète|répétez|donne[rz]?|publie[rz]?|copie[rz]?|revela"
    r"|muestra|envía|imprime"
    r"|repite|copia|publica|dame|enumera|rivela|mostra|invia|stampa|ripeti|pubblica|revele|mostre|envie|imprima"
    r"|repita|copie|publique)"
    rf"\b{_NEAR}?{_OWN}",
    "use-tool": rf"{_START}(?:rufe? (?:das|die) (?:tool|werkzeug|funktion)|nutze deine (?:tools|werkzeuge)"
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
