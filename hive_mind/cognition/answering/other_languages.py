"""Question words of other languages than English and German: those that ask for somebody, for a figure and for a time.

A text without one does not answer. Places, causes and ways have no form of their own.
"""

import re
from collections.abc import Mapping

from hive_mind.cognition.temporal import DAYS_ELSEWHERE
from hive_mind.model.figures import NUMERAL_ELSEWHERE
from hive_mind.regex import regex
from hive_mind.remembered import remembered

WHO: Mapping[str, str] = {
    "armenian": "ով ում",
    "basque": "nork nori",
    "catalan french": "qui",
    "czech slovenian": "kdo koho komu kým koga",
    "danish norwegian": "hvem",
    "esperanto": "kiu kies",
    "estonian": "kes kelle keda",
    "finnish": "kuka kenen kenet kenelle ketkä",
    "greek": "ποιος ποιοι ποιον",
    "hungarian": "ki kik kit kinek kié",
    "indonesian": "siapa",
    "irish": "cé",
    "italian": "chi",
    "lithuanian": "kieno",
    "polish slovak": "kto kogo komu kim koho",
    "portuguese": "quem",
    "romanian": "cine",
    "russian": "кто кого кому кем",
    "sesotho": "mang",
    "serbian": "ko koga kome ко кога коме",
    "spanish": "quién quiénes quien quienes",
    "swedish": "vem vems",
    "turkish": "kim kimi kime kimin",
    "ukrainian": "хто кого кому ким",
}
"""Words that ask for people, of those whose names begin with a capital."""
LITTLE: Mapping[str, str] = {
    "arabic persian": "أي هل تم يتم يقع توجد يوجد چه کسی کیست چیست کجاست آیا است",
    "czech": "se jsou bude proč kam má může musí jmenuje nachází",
    "danish norwegian": "der skal har får kan må bliver hvor hvordan hvorfor mange meget mye ligger bor heter hedder",
    "dutch": "laat hoe moet moeten gaat doet heet liggen",
    "finnish": "paljonko montako kauanko miksi mihin mistä voiko saako onko oli sijaitsee kuuluu",
    "french": "se on ont sont fait faut ça y en chez comment appelle appellent appelait trouve",
    "greek": "γιατί πού πώς πόσων πρέπει λέγεται βρίσκεται επιτρέπεται",
    "hebrew": "איפה לאן מתי מי למה האם באיזה איזה אצל יש שם",
    "hungarian": "hova hol honnan miért hogy hogyan hívják van volt kell lehet található",
    "indonesian": "apa apakah ada bisa bolehkah yang jam nama terletak berada diadakan dimana",
    "italian": "si da lo gli ho hanno fa fanno cosa deve bisogna chiama chiamano trova",
    "polish": "są jest będzie będą został została jaki jakie jakiego jakiej jakim dlaczego dokąd skąd komu trzeba można ma",
    "portuguese": "se os nos há é ao foi ser tem chama fica ficam",
    "romanian": "cât câtă câți câte ce se este sunt unde află trebuie numește",
    "russian": "почему зачем куда откуда чей можно нужно надо находится находятся зовут есть",
    "spanish": "se lo ha hay fue son están me le su hace hacen debe puede llama llaman queda encuentra",
    "swedish": "på der skal har får man blir finns hur varför många mycket ligger bor heter vad var vart",
    "turkish": "mi mı mu mü nasıl neden niçin niye nedir neydi neresi kaç kadar saat",
    "ukrainian": "скільки навіщо чому куди звідки чи чий можна потрібно треба знаходиться звати звуть",
    "vietnamese": "bao nhiêu gì ở đâu khi nào ai vì sao tại có được tên mấy là giờ",
}
"""Words that say nothing in a question and tell no language, as English has some of them: "is", "there", "how", "called"."""
_MEASURES = (
    "diep|hoog|lang|breed|zwaar|groot|oud|ver|warm|veel|djup|hög|bred|tung|stor|gammal|långt?|varm|många|mycket|dyp|dyb|høy|"
    "høj|gammel|mange|meget|mye|głębok|wysok|dług|szerok|ciężk|duż|star|dalek|hlubok|vysok|dlouh|širok|těžk|velk|monta|"
    "paljon|syvä|korkea|pitkä|leveä|painava|suuri|vanha|глубок|высок|длин|широк|тяж[её]л|велик|долго|глибок|висок|довг|важк|"
    "palju|sügav|pikk"
)
# Some stand anywhere: the verb comes last, or words have no gaps between them.
_FIRST = {
    "thing": (
        r"dónde|donde|onde|dove|où|unde|waar|welke?|var|vilken|vilket|hvor|hvilk\w+|gdzie|któr\w+|kde|kter\w+|где|как[оаи]\w+|"
        r"де|як[аие]\w*|gdje|kje|πού|που|ποι[αο]\w*|hol|melyik\w*|missä|mikä|di mana|qual|quale?s?|quel(?:le)?s?|qué|أين|أي|"
        "איפה|איזה|որտեղ|kur|kus"
    ),
    "figure": (
        "combien|quant(?:s|[oaei]s?)?|cu[aá]nt[oa]s?|c[âa]t(?:[ăaei]|e)?|câți|hoeveel|ilu?|ile|kolik[oa]?|koľko|колик?о|"
        r"koliko|montako|paljonko|mitu|kiek|cik|kiom|zenbat|cé mhéad|насколько|скольк\w+|скільк\w+|πόσ\w+|hány\w*|mennyi\w*|"
        rf"berapa|[بك]?كم|كم|چند|چقدر|[בל]?כמה|քանի|որքան|(?:hoe|hur|hvor|jak|kuinka|kui|как) (?:{_MEASURES})\w*"
    ),
    "time": (
        "um wie ?viel uhr|(?:ab|bis|seit) wann|quan[dt]?|quando|cu[aá]ndo|când|cand|wanneer|hoe laat|när|hur dags|hvornår|når|"
        "kiedy|kdy|kedy|kdaj|kad[aă]?|кога|"
        r"када|когда|коли|во сколько|о котр\w+|πότε|τι ώρα|mikor\w*|hány órakor|milloin|mihin aikaan|millal|kapan|jam berapa|"
        r"noiz|kiam|cathain|متى|מתי|երբ|(?:quel(?:le)?s?|qu[eé]|che|ce|v?ilken|vilket|hvilk\w+|welke?|któr\w+|kter\w+|как\w+|"
        r"котор\w+|як\w+|ποι\w+|أي|في أي) (?:heures?|jour|date|année|horas?|d[ií]a|fecha|a[ñn]o|data|ora|ore|giorno|anno|ani?|"
        r"zi|dag|datum|dato|jaar|år|uur|godzin\w+|dni\w*|roku|hodin\w*|den|dn\w+|году|день|дня|числа|час\w*|році|μέρα|χρονιά|"
        "يوم|عام|سنة|ساعة)"
    ),
}
_ANYWHERE = {
    "thing": "哪里|哪儿|哪个|どこ|どの|どれ|어디|어느|कहाँ|कहां|किस|எங்கே|ที่ไหน|\\bở đâu\\b|\\b(?:hangi|nere)",
    "figure": (
        "電話番号|多少|几(?!乎)|多[长大高远重深宽快久]|いくら|いくつ|何(?:[人個枚冊回台本匹歳円度階]|パーセント|キロ|"
        r"メートル)|ど(?:のくらい|れくらい)|몇|얼마|कितन|எத்தனை|எவ்வளவு|กี่|เท่าไ[รห]|\bbao nhiêu\b|\bkaç|\bne kadar\b"
    ),
    "time": (
        "什么时候|何时|几(?:[点月时日]|[號号](?![线線楼门房车]))|哪[天年]|星期几|いつ|何[時日月年曜]|언제|몇 ?[시월일년]|"
        "무슨 요일|कब|किस (?:दिन|साल|"
        r"समय|वर्ष)|कितने बजे|எப்போது|เมื่อไ[รห]|กี่โมง|วันไหน|ปีไหน|\b(?:khi nào|bao giờ|mấy giờ|ne zaman|saat kaç|"
        "hangi (?:gün|tarih|yıl))"
    ),
}
_NUMBERS = (
    rf"{NUMERAL_ELSEWHERE}|"
    "cien(?:to)?|mil|six|cent|mille|due|tre|quattro|cinque|sei|sette|otto|nove|dieci|dodici|venti|dois|duas|três|"
    "quatro|sete|oito|dez|doze|vinte|cem|doi|două|trei|patru|cinci|șase|șapte|opt|nouă|zece|twee|drie|vijf|zes|zeven|"
    "negen|tien|twaalf|twintig|honderd|två|fyra|fem|sex|sju|åtta|nio|tio|tolv|fire|seks|syv|otte|åtte|kaksi|kolme|"
    "neljä|viisi|kuusi|két|kettő|három|négy|öt|hét|dwa|dwie|dwóch|trzy|trzech|cztery|pięć|sześć|siedem|osiem|"
    r"dziewięć|dziesięć|sto|dva|dvě|dve|tři|tri|čtyři|pět|šest|sedm|osm|devět|deset|дв[ауе]\w*|дві|тр[иёе]х?|годину|hodinu|"
    r"godzinę|четыре\w*|чотири|пят[ьи]|п['’]ять|шест[ьи]|шість|семь|сім|восемь|вісім|девят\w+|дев['’]ять|десят\w+|сто|"
    r"тысяч\w*|один|одна|одну|δ[υύ]ο|τρεις|τρία|τέσσερ\w+|πέντε|έξι|επτά|οκτώ|εννέα|δέκα|iki|üç|dört|beş|altı|yedi|sekiz|"
    r"dokuz|yüz|dua|tiga|empat|lima|enam|bốn|năm|sáu|mười|ثلاث\w*|أربع\w*|خمس\w*|ست[ةه]?|سبع\w*|ثمان\w*|تسع\w*|عشر\w*|مائة|"
    r"ألف|שני|שתי|שלוש\w*|ארבע\w*|חמ[שי]\w*|दो|तीन|चार|प[ाँां]+च|छह|सात|आठ|नौ|दस|सौ|gr[aá]t\w+|бесплатн\w+|безкоштовн\w+|"
    r"ücretsiz|δωρεάν|مجان\w*|zdarma|darmo\w*|ingyen\w*|\w+кратн\w*|nul|zéro|cero|mitad|moitié|metà|metade|helft|połow\w+|"
    r"половин\w+|yarı\w*"
)
_FIGURE = regex(
    # Arabic and Hebrew have a form of their own for two.
    rf"(?:(?<![A-Za-z\d#/.])|(?<=\bRp))\d[\d.,:]*|\b(?:{_NUMBERS}|\w{{1,20}}(?:تين|تان|יים)|يومين|شهرين)\b|[一二两三四五六七八九十百千万半]|無料|免费|무료|(?:한|두|세|네|다섯|"
    "여섯|일곱|여덟|아홉|열) |สอง|สาม|สี่|ห้า|หก|เจ็ด|แปด|เก้า|สิบ|ฟรี",
    re.IGNORECASE,
)
# Words for a time: before, after, during.
_TIMES = (
    "durante|pendant|avant|après|antes|después|depois|dopo|prima|после|во время|до|перед|przed|podczas|tijdens|voor|innan|"
    "efter|før|etter|under|sonra|önce|πριν|μετά|بعد|قبل|اليوم|غدا|أمس|(?:ال)?(?:اثنين|ثلاثاء|أربعاء|خميس|جمعة|سبت|أحد)|היום|"
    "מחר|אתמול|אחרי|לפני|ביום"
)
_MOMENT = regex(
    rf"\d|\b(?:{DAYS_ELSEWHERE}|{_TIMES}|\w+dag\b|\w+tai\b|\w+kuu(?:n|ssa|ta|hun)?\b|(?:uur|klo?|klockan|klokken|óra|órakor)\b|godz|hodin|ώρα|час)|[一二三四五六七八九十][年月日点时時]|[曜晨夕朝晚夜昼]|[今明昨][天日]|"
    "周[一二三四五六日末]|星期|요일|오늘|내일|어제|아침|저녁|वार|आज|कल|सुबह|शाम|วัน|พรุ่งนี้|เมื่อวาน|hôm|ngày|sáng|chiều|tối",
    re.IGNORECASE,
)
PRICE = regex(
    r"\b(?:kost|cuest|co[uû]t|cost|cust|kosztow|kosztuj|сто[ия]|кошту|stoj|κοστίζ|tutuyor|vale|paga|plat[íi])|多少钱|いくら|"
    "얼마",
    re.IGNORECASE,
)
PEOPLE = regex(
    r"\b(?:crianças|niñ[oa]s|enfants?|bambini|дет[ией]\w*|kinderen|barnen?|dzieci|děti|παιδιά|çocuk\w*|anak|membros|"
    r"miembros|membres|soci|członk\w*|členov\w*|medlemm?ar|leden|člen\w*)\b|儿童|子供|어린이|बच्च|أطفال|trẻ em"
)
_YEAR = regex(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# Up to two little words stand ahead: "Fino a che ora". Turkish asks in front of the verb; "wie" is Dutch for who, and
# German for how.
_AHEAD = (
    "(?:à|a|en|in|até|desde|depuis|fino|hasta|până|la|sinds|sedan|från|fra|od|w|de|da|di|do|con|com|per|par|pour|por|z|s|u|o|"
    "dla|на|у|в|во|з|с|о|к|до|από|μέχρι|för|med|av|til|till|cu|met|van|für|mit)"
)
SOMEBODY = (
    rf"^\W*(?:{_AHEAD} )?(?:{'|'.join(sorted({word for words in WHO.values() for word in words.split()}))})\b|\bkim(?:i|e|"
    r"in)?(?= [^\W\d_]{2,40}\W*$)|^wie\b(?=.{1,200}\b(?:de|het|een|heeft|is|zijn|wordt|van)\b)"
)
"""An expression for questions that ask for somebody; the others for those that want a figure, a time, and a place or one of
several."""
FIGURE, TIME, THING = (
    rf"^\W*(?:{_AHEAD} ){{0,2}}(?:{_FIRST[kind]})(?!\w)|{_ANYWHERE[kind]}" for kind in ("figure", "time", "thing")
)

_CURRENCIES = (
    r"euro\w*|eur|usd|gbp|chf|dollar\w*|dólar\w*|доллар\w*|kr|kron\w*|sek|dkk|nok|zł\w*|pln|kč|czk|korun\w*|руб\w*|rub|грн|"
    r"грив[еін]н\w*|lei|leu|ron|ft|forint\w*|huf|tl|lira\w*|ευρώ|cent\w*|c[êé]ntimos?|reais|real|pesos?|rupiah|ribu|juta|"
    r"درهم\w*|دينار\w*|ريال\w*|جنيه\w*|دولار\w*|ليرة|يورو|שקל\w*|דולר\w*|יורו|تومان|ریال"
)
_MONEY = (
    rf"\d ?(?:(?:de )?(?:{_CURRENCIES})\b|(?:mil|тыс|tis|tys|میلیون|هزار|מיליון|ألف)\w*\b|"
    r"[百千万億만천 ]{0,4}[元块円원रบđ€$£¥₺₴₽₹₪₩₫฿])"
    r"|[€$£¥₺₴₽₹₪₩₫฿] ?\d|\b(?:rp|r\$) ?\d|[一二两三四五六七八九十百千万](?:元|块|円|원)"
)
# Nouns, and verbs for costing.
_PRICES = (
    r"prix|tarif\w*|montant|loyer|precio|importe|alquiler|prezzo|costo|affitto|preço|custo|renda|aluguel|prijs|bedrag|"
    r"tarief|huur|cen[ayęu]|koszt\w*|kwot\w*|czynsz\w*|náklad\w*|nájem\w*|цен[аыу]|стоимость|сумм[аы]|плат[аы]|ціна|"
    r"вартість|сума|pris(?:et|en)?|hyran?|belopp\w*|avgift\w*|hinta|vuokra|fiyat\w*|ücret\w*|kira\w*|preț\w*|chiri\w*|"
    r"cost(?:ul)?|ár[aá]?|díj\w*|τιμή|κόστος|ενοίκιο|(?:ال)?سعر\w*|ثمن|تكلفة|אגרה|מחיר|עלות|قیمت|هزینه|harga|biaya|ongkos|"
    r"giá|chi phí|kost(?:et|en|ade|ar|er|t|ede)?|cuest\w+|cost(?:ó|a|ano|ava|aba|aban|eren|at|au|ă)|co[uû]t(?:e|ent|ait|é)|"
    r"cust(?:a|am|ou|ava)|сто[ия]\w+|кошту\w+|stoj[íi]\w*|stál\w*|κοστίζ\w+|tut(?:tu|uyor|ar)|mal oldu|maksa\w*|kerül\w*|"
    r"עול[הת]|על[הת]"
)
_PRICES_UNSPACED = "价格|费用|价钱|値段|料金|価格|会費|가격|비용|요금|ราคา|कीमत|किराया|दाम"
_WHAT = "vad|hvad|hva|wat|co|mitä|ne|mit|(?:che )?cosa|o que|ما|מה|چه"
_PRICE_WORDS = rf"\b(?:{_PRICES})\b|{_PRICES_UNSPACED}"
_QUANTITIES = (
    # Prices.
    (
        _PRICE_WORDS,
        rf"^(?=\W*(?:{_WHAT})\b|(?>.{{0,200}}?(?:{FIGURE}|{THING})))(?>.{{0,200}}?(?:{_PRICE_WORDS}|多少钱|いくら|얼마))",
        rf"{_MONEY}|\b(?:{_PRICES})\b[^\d.]{{0,40}}\d|\d[.,]\d\d(?!\d)|\b(?:gr[aá]t\w+|ilmai\w+|бесплатн\w+|безкоштовн\w+|ücretsiz|"
        r"δωρεάν|مجان\w*|חינם|رایگان|zdarma|darmo\w*|ingyen\w*|miễn phí)\b|免费|無料|무료|ฟรี|मुफ़्त",
    ),
    # Telephones.
    (
        r"\b(?:t[eé]l[eéè]f\w+|telepon\w*|телефон\w*|τηλέφων\w+|puhelin\w*|n[úu]m[eé]ro|num[ae]r\w*|nomor|номер|מספר|רقم|رقم|شماره|هاتف\w*|"
        "تلفن|טלפון|điện thoại|số)\\b|电话号码|電話番号|电话|전화번호|번호|เบอร์โทร|फ़ोन|नंबर",
        r"\b(?:t[eé]l[eéè]f(?!onnummer)\w+|telepon\w*|телефон\w*|τηλέφων\w+|puhelin\w*|هاتف\w*|تلفن|טלפון|điện thoại)\b|电话号码|"
        "電話番号|전화번호|เบอร์โทร|फ़ोन नंबर",
        r"\d(?:[ ()/.-]{0,2}\d){6,14}",
    ),
    # Ages.
    (
        r"\b(?:âge|años|anos|anni|oud|lat|let|лет|років|gammal|gammel|yaş\w*|χρον\w+|ani|éves|vanha|عمر|umur|usia|tuổi)\b|年纪|岁|歳|살|"
        "나이|อายุ|उम्र",
        r"\b(?:quel âge|cuántos años|quantos anos|quanti anni|hoe oud|ile lat|kolik (?:je )?let|сколько лет|скільки років|"
        r"hur gammal|hvor gammel|kaç yaşında|πόσων χρον\w+|câți ani|hány éves|kuinka vanha|كم عمر|בן כמה|בת כמה|چند سال\w*|"
        r"umur|usia|tuổi)\b|年纪|"
        "几岁|何歳|몇 살|나이|อายุ|उम्र",
        r"\d ?(?:(?:ans?|años?|anos?|ann[io]|jaar|lata?|let|år|ani|éves)\b|лет|год|рок|yaş|χρον|ετών|vuo|سنة|عاما|שנ|سال|"
        r"साल|वर्ष|岁|歳|살|ปี|tuổi|tahun)|\b(?:née?|nacid[oa]|nascid[oa]|nat[oa]|geboren|urodz\w+|naroz\w+|рожд\w+|родил\w+|"
        r"народ\w+|f[øö]dt?|doğum\w*|γενν\w+|născut\w*|szület\w+|syntyn\w+|مواليد|مولود|יליד\w*|نولد|متولد|sinh|lahir)\b|"
        r"जन्म|出生|生まれ|태어|생년|เกิด",
    ),
    # Weights.
    (
        r"\b(?:pèse|poids|pesa|peso|weegt|waży|waga|váží|váha|весит|вес|важить|вага|väger|vikt\w*|vejer|vægt|veier|vekt|"
        r"ağırlı\w+|ζυγίζει|βάρος|greutat\w+|cântăre\w+|súly\w*|paino\w*|painaa|وزن|משקל|berat\w*|nặng)\b|多重|重量|体重|"
        r"重さ|무게|หนัก|वज़न",
        "",
        r"\d ?(?:kg|g|mg|t|кг|г|kilo\w*|кило\w*|كغ|كيلو\w*|קילו|گرم|کیلو\w*)\b|\d ?(?:किलो|ग्राम|公斤|斤|千克|克|キロ|グラム|"
        r"킬로|กิโล|กรัม)",
    ),
)
MEASURES = tuple((named, asked or named, told) for named, asked, told in _QUANTITIES)
"""Words for a quantity, which a text may leave out that gives it; how it is asked for, and how it is given."""
ACCOUNT = (
    r"\b(?:user|käyttäjä|usuario|utente|utilisateur|benutzer|пользователь|użytkownik|användare|bru[gk]er|gebruiker|"
    r"kullanıcı|usuário|uživatel)[=: ]+[\w.-]+"
)
"""An account in a log."""
_ASKS = regex(rf"{SOMEBODY}|{FIGURE}|{TIME}|{THING}", re.IGNORECASE)
_ASKED_WITH = tuple((regex(asked, re.IGNORECASE), regex(named, re.IGNORECASE)) for named, asked, _ in MEASURES)


def asking_words(question: str) -> str:
    """The question word of another language than English and German, with the noun that it is asked with, "" without one."""
    match = _ASKS.search(question)
    return match[0] if match else ""


def measure_words(question: str) -> str:
    """The words of a question for the quantity that it asks for."""
    return " ".join(word for asked, named in _ASKED_WITH if asked.search(question) for word in named.findall(question))


_WHY = regex(
    r"^\W*(?:and |so |but )?(?:why|how come|warum|wieso|weshalb|pourquoi|por ?qu[eéê]|perché|per quale motivo|waarom|"
    r"dlaczego|czemu|proč|prečo|почему|зачем|чому|навіщо|varför|hvorfor|neden|niçin|niye|miksi|miért|miks|γιατί|de ce|zašto|"
    r"zakaj|mengapa|kenapa|vì sao|tại sao|لماذا|لمَ?|למה|מדוע|چرا)(?!\w)|क्यों|为什么|為什麼|为何|怎么会|なぜ|どうして|"
    r"왜(?!\w)|ทำไม|\b(?:neden|niye)\b",
    re.IGNORECASE,
)
REASON = regex(
    r"\b(?:because|since|due to|owing to|so that|in order to|caus(?:ed?|es|ing)|reasons?|weil|denn|wegen|damit|aufgrund|"
    r"parce que?|car|à cause|en raison|afin|por ?que|debido|por culpa|para que|perché|causa|dato che|poiché|omdat|vanwege|"
    r"zodat|ponieważ|gdyż|(?-i:bo)|żeby|protože|kvůli|aby|потому|из-за|так как|чтобы|бо|тому що|через|щоб|оскільки|eftersom|"
    r"därför|fordi|på grun[nd]|pga|sillä|koska|takia|vuoksi|mert|miatt|hogy ne|çünkü|için|yüzünden|nedeniyle|γιατί|επειδή|"
    r"διότι|λόγω|pentru că|fiindcă|din cauza|deoarece|karena|sebab|agar|vì|bởi|do đó|لأن\w*|بسبب|כי|בגלל|מפני|چون|زیرا|"
    r"به دلیل)\b|\b\w{3,20}dığı için|क्योंकि|इसलिए|की वजह|因为|由于|因此|所以|以免|ため|から、|ので|ために|때문|아서|어서|"
    r"해서|라서|으로 인해|เพราะ|เนื่องจาก|\b(?-i:[a-zà-ÿа-яα-ω])\w{0,20}+ ?: (?-i:[a-zà-ÿа-яα-ω])",
    re.IGNORECASE,
)
"""A text that says why: a cause or an aim, or what a colon explains."""


def asks_why(question: str) -> bool:
    return _WHY.search(question) is not None


# Deeds that undo one another, each side as people of many languages say it. In English nouns of the same letters are left out.
_TO_DO = r"(?:will|to|does|do|did|can|may|must|should) (?:[\w'’-]{1,30} ){0,4}"
_UNDOING = (
    (
        r"\b(?:(?:start|beg[iau]n|commenc)(?:s|ed|ing|ning|es|e)?|beginnt|begonnen|begann|fängt|fing|startet|commenc\w{1,5}|"
        r"début\w{0,4}|empie[zc]\w{1,3}|empez\w{1,4}|comien[zc]\w{1,3}|comenz\w{1,4}|inicia\w{0,3}|inizi\w{1,4}|"
        r"cominci\w{1,4}|começ\w{1,4}|begint|begon|börja\w{0,2}|begynder|begynte\w?|starter|zaczyna\w{0,2}|zacz\w{2,5}|"
        r"rozpocz\w{2,6}|začín\w{1,3}|zača\w{1,3}|начин\w{2,9}|нач[аё]\w{1,4}|почин\w{2,9}|поча\w{2,9}|başl\w{2,7}|"
        r"αρχίζ\w{1,4}|ξεκιν\w{1,5}|alkaa|alkoi|kezd\w{2,6}|începe\w{0,2}|mulai|dimulai|bắt đầu|[يت]بدأ|מתחיל\w{0,2}|בדא)\b|"
        r"开始|開始|始[まめ]|시작|เริ่ม|शुरू",
        rf"\b(?:ends|ended|ending|finish(?:es|ed|ing)?|{_TO_DO}end|endet\w?|geendet|aufhör\w{{1,3}}|fini\w{{1,4}}|termin(?:an?|ó|ent|er|ates?|ated|ano|ou|am|ará)|acab\w{{1,4}}|"
        r"finisc\w{1,3}|eindig\w{1,3}|slutar|slutade|slutter|kończ\w{1,4}|skończ\w{2,4}|zakończ\w{2,4}|(?:s?kon)č\w{1,4}|"
        r"заканч\w{2,9}|законч\w{2,9}|кончает\w{0,2}|закінч\w{2,9}|biter|bitiyor|bitti|τελειώ\w{1,4}|λήγ\w{1,4}|"
        r"päätty\w{1,4}|loppuu|loppui|véget ér|sfârșește|berakhir|selesai|kết thúc|[يت]نتهي|מסתיי\w{1,3}|נגמר\w{0,2})\b|"
        r"结束|結束|終わ|終了|끝|종료|จบ|สิ้นสุด|खत्म|समाप्त",
    ),
    (
        r"\b(?:open(?:s|ed|ing)?|öffne\w{1,2}|geöffnet|ouvr\w{1,4}|ouvert\w{0,2}|abr(?:en?|ió|irá|iu|em)|abiert\w{1,2}|"
        r"apr(?:e|ono|irà|iva)|apert\w|abert\w|opent|geopend|öppna\w{0,2}|öppet|åbne\w{1,2}|åpne\w?|otwier\w{1,3}|otwart\w|"
        r"otev\w{2,5}|открыва\w{2,9}|открыт\w?|відкри\w{2,9}|açıl\w{1,5}|açık|ανοίγ\w{1,3}|aukeaa|avataan|nyit\w{0,3}|"
        r"deschi\w{1,4}|buka|dibuka|mở cửa|[يت]فتح|נפתח\w?|פתוח\w?)\b|开门|营业|開店|開[くきい]|열[어리린]|문을 여|เปิด|खुल",
        r"\b(?:clos(?:es|ed|ing)|close(?! to\b| by\b)|schließ\w{1,2}|geschlossen|ferm(?:e|ent|er|é|ée|és|ait)|cierr\w{1,2}|"
        r"cerr(?:ar|ó|ad[oa]s?|ará)|chiu\w{2,4}|fech(?:am|ou|ad[oa]s?)|horas fecha|fecha (?:às|ao)|sluit|sluiten|gesloten|"
        r"stänger|stängd\w?|stängt|lukke\w?|lukket|stenger|zamyka\w{0,2}|zamkn\w{2,5}|zavír\w{1,3}|zavřen\w|закрыва\w{2,9}|"
        r"закрыт\w?|зачин\w{2,9}|закрит\w?|kapan\w{2,5}|kapalı|κλείν\w{1,3}|κλειστ\w|sulke\w{2,5}|suljet\w{2,3}|zár|"
        r"bezár\w{0,3}|închi\w{2,4}|tutup|ditutup|đóng cửa|[يت]غلق|נסגר\w?|סגור\w?)\b|关门|打烊|閉店|閉[まめじ]|닫|ปิด|बंद",
    ),
    (
        r"\b(?:arriv(?:es?|ed|al|als|ing)|ankomm\w{0,2}|ankunft|angekommen|arrivé\w{0,2}|llega\w{0,3}|arriva\w{0,2}|"
        r"chega\w{0,3}|aankom\w{0,3}|ankommer|anländer|przyjeżdża\w?|przyjazd\w?|прибыва\w{2,9}|прибытие|приезжает|varış|"
        r"varıyor|άφιξη|saapuu|érkez\w{2,4}|soseșt\w)\b|到达|到達|着きます|도착|มาถึง",
        rf"\b(?:depart(?:s|ed|ure|ures|ing)?|leaves|leaving|leave (?:from|at|for)|{_TO_DO}leave|"
        r"fährt ab|abfahrt|abgefahren|repart\w{1,3}|départ\w?|salida|partono|partenza|partem|partida|vertrek\w{0,3}|avgår|"
        r"afgår|avgang|odjeżdża\w?|odjazd\w?|отправля\w{2,9}|отправление|уезжает|kalkış|kalkıyor|αναχώρηση|lähtee|"
        r"indul\w{0,3}|pleacă|plecare)\b|出发|出発|발차|출발|ออกเดินทาง",
    ),
    (
        r"\b(?:minimum|minim\w{1,2}|mínim\w|mindestens?|at least)\b|最低|最少",
        r"\b(?:maximum|maxim\w{1,2}|máxim\w|höchstens|at most)\b|最高|最多",
    ),
    (r"\bcheck(?:ing|ed)?[ -]?in\b", r"\bcheck(?:ing|ed)?[ -]?out\b"),
    (r"\bimport(?:s|ed|ing)?\b", r"\bexport(?:s|ed|ing)?\b"),
    (r"\block(?:s|ed|ing)?\b", r"\bunlock(?:s|ed|ing)?\b"),
    (r"\bupload(?:s|ed|ing)?\b", r"\bdownload(?:s|ed|ing)?\b"),
    (r"\b(?:inbound|incoming)\b", r"\b(?:outbound|outgoing)\b"),
    (r"\b(?:born|birth\w{0,3})\b", rf"\b(?:died|dies|death|{_TO_DO}die)\b"),
)
_BOTH_SIDES = tuple((regex(side, re.IGNORECASE), regex(other, re.IGNORECASE)) for side, other in _UNDOING)
# It tells of both ends: it lasts until then, or from one figure to another.
_UNTIL = regex(
    r"\b(?:until|till|bis|jusqu\w{0,2}|hasta|fino|até|tot|do(?= \d| któr| kdy| kolik)|до|kadar|έως|μέχρι|asti|saakka|până|"
    r"sampai|đến|حتى|עד|lasts?|dauert|dure|dura|duurt|длится)\b|から|まで|까지|ถึง|तक|到|至",
    re.IGNORECASE,
)
_RANGE = regex(r"\b(?:to|and|through|a|à|às|alle|au|til|y|e|und|et|en|och|og|i|и)\b|\d\s?[-–—~〜]\s?\d", re.IGNORECASE)
_NUMBER = regex(r"\d+(?:[.:]\d+)?|[一二三四五六七八九十]+")


_OPENLY = regex(
    r"\b(?:who|whom|whose|what|when|where|which|why|how|we[rmn]|was|wann|woher|wohin|wo|wie|warum|welche[rsnm]?)\b", re.IGNORECASE
)


@remembered(64)
def _deeds_asked(question: str) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Each deed that a question asks about, but with yes or no, with what undoes it."""
    # "Until when is it open?"
    if _UNTIL.search(question) or not (asking_words(question) or _OPENLY.search(question)):
        return ()
    asked = [(side, other, bool(side.search(question)), bool(other.search(question))) for side, other in _BOTH_SIDES]
    return tuple((side, other) if asks else (other, side) for side, other, asks, undoes in asked if asks != undoes)


def tells_opposite(question: str, text: str) -> bool:
    """Whether a text tells only what undoes the deed that a question asks about: the shop opens at 8, and when does it close?"""
    if not any(undone.search(text) and not deed.search(text) for deed, undone in _deeds_asked(question)):
        return False
    is_range = len(_NUMBER.findall(text)) > 1 and _RANGE.search(text) is not None
    return not (is_range or _UNTIL.search(text))


# "14:30", "2. April", "9月5日"; "14.30" may be a price.
_WHEN = regex(
    rf"\b\d{{1,2}}:\d\d\b|\b\d{{1,2}}\.?(?: de)? (?:{DAYS_ELSEWHERE})|\d{{1,2}}月\d{{1,2}}日|\d{{1,2}}월 ?\d{{1,2}}일|"
    r"(?:saat|klockan|klokken|kl\.?|pukul|jam|lúc|στις|alle ore|a las|às|à|о|в) \d{1,2}[.:]\d\d",
    re.IGNORECASE,
)


def has_figure(text: str, question: str) -> bool:
    """A number that the question does not hold already; a year is no price, and nothing is counted by days and hours."""
    text = _YEAR.sub(" ", text) if PRICE.search(question) else _WHEN.sub(" ", text)
    figures = _FIGURE.findall(text)
    return any(figure.strip(".,:") not in question for figure in figures)


def has_time(text: str, question: str) -> bool:
    del question
    return _MOMENT.search(text) is not None
