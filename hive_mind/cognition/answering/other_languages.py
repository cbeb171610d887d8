"""Question words of other languages than English and German: those that ask for somebody, for a figure and for a time.

A text without one does not answer. Places, causes and ways have no form of their own.
"""

import re
from collections.abc import Mapping

from hive_mind.model.figures import NUMERAL_ELSEWHERE
from hive_mind.regex import regex

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
        "quan[dt]?|quando|cu[aá]ndo|când|cand|wanneer|hoe laat|när|hur dags|hvornår|når|kiedy|kdy|kedy|kdaj|kad[aă]?|кога|"
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
        "什么时候|何时|几[点號号月时日]|哪[天年]|星期几|いつ|何[時日月年曜]|언제|몇 ?[시월일년]|무슨 요일|कब|किस (?:दिन|साल|"
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
    r"dziewięć|dziesięć|sto|dva|dvě|dve|tři|tri|čtyři|pět|šest|sedm|osm|devět|deset|дв[ауе]\w*|дві|тр[иёе]х?|"
    r"четыре\w*|чотири|пят[ьи]|п['’]ять|шест[ьи]|шість|семь|сім|восемь|вісім|девят\w+|дев['’]ять|десят\w+|сто|"
    r"тысяч\w*|один|одна|одну|δ[υύ]ο|τρεις|τρία|τέσσερ\w+|πέντε|έξι|επτά|οκτώ|εννέα|δέκα|iki|üç|dört|beş|altı|yedi|"
    r"sekiz|dokuz|yüz|dua|tiga|empat|lima|enam|bốn|năm|sáu|mười|ثلاث\w*|أربع\w*|خمس\w*|ست[ةه]?|سبع\w*|ثمان\w*|تسع\w*|"
    r"عشر\w*|مائة|ألف|שני|שתי|שלוש\w*|ארבע\w*|חמ[שי]\w*|दो|तीन|चार|प[ाँां]+च|छह|सात|आठ|नौ|दस|सौ|gr[aá]t\w+|"
    r"бесплатн\w+|безкоштовн\w+|ücretsiz|δωρεάν|مجان\w*|zdarma|darmo\w*|ingyen\w*|\w+кратн\w*|nul|zéro|cero|mitad|"
    r"moitié|metà|metade|helft|połow\w+|половин\w+|yarı\w*"
)
_FIGURE = regex(
    rf"(?<![A-Za-z\d#/.])\d[\d.,:]*|\b(?:{_NUMBERS})\b|[一二两三四五六七八九十百千万半]|無料|免费|무료|(?:한|두|세|네|다섯|"
    "여섯|일곱|여덟|아홉|열) |สอง|สาม|สี่|ห้า|หก|เจ็ด|แปด|เก้า|สิบ|ฟรี",
    re.IGNORECASE,
)
# Days and months, and other words for a time: today, before, after, during.
_TIMES = (
    "lunes|martes|mi[ée]rcoles|jueves|viernes|s[áa]bado|domingo|hoy|mañana|ayer|lundi|mardi|mercredi|jeudi|vendredi|samedi|"
    "dimanche|aujourd|demain|hier|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|oggi|domani|ieri|segunda|terça|"
    "quarta|quinta|sexta|hoje|amanhã|ontem|luni|marți|miercuri|joi|vineri|sâmbătă|duminic|mâine|vandaag|morgen|gisteren|"
    "i ?dag|imorgon|dziś|dzisiaj|jutro|wczoraj|poniedział|wtor|środ|czwart|piąt|sobot|niedziel|pondělí|úter|střed|čtvrt|"
    "pátek|pátk|neděl|dnes|zítra|včera|понед|вторник|сред[аыу]|четвер|п['’]?ятниц|суб+от|воскрес|вівтор|серед|неділ|сегодня|"
    "завтра|вчера|сьогодні|δευτέρα|τρίτη|τετάρτη|πέμπτη|παρασκευή|σάββατο|κυριακή|σήμερα|αύριο|χθες|pazartesi|salı|çarşamba|"
    "perşembe|cuma|pazar|bugün|yarın|dün|kedd|szerd|csütört|pént|szomb|vasárn|holnap|tegnap|keskiviik|tänään|huomenna|eilen|"
    "senin|selasa|rabu|kamis|jumat|besok|kemarin|jan[uv]|janeiro|ianuar|ener|genn|f[ée]vr|fever|febr|mar[sçz]|abril|avril|"
    r"april|ma[jgy]o|ma[ij]\b|jun[ihy]|juin|juil|jul[ihy]|giug|lugl|agost|août|august|sept|set+embr|okto|octo|octu|ott|outub|"
    "novem|noviem|d[ée][cz]em|dicem|diciem|янв|фев|март|апр|ма[йяе]|ию[нл]|авг|сент|окт|ноя|дек|січ|лют|берез|квіт|трав|черв|"
    "лип|серп|верес|жовт|листоп|груд|sty|lut|kwie|czerw|lip|sierp|wrze|paźd|listopad|grud|ocak|şubat|nisan|mayıs|haziran|"
    "temmuz|ağustos|eylül|ekim|kasım|aralık|durante|pendant|avant|après|antes|después|depois|dopo|prima|после|во время|до|"
    "перед|przed|podczas|tijdens|voor|innan|efter|før|etter|under|sonra|önce|πριν|μετά|بعد|قبل|اليوم|غدا|أمس|(?:ال)?(?:اثنين|"
    "ثلاثاء|أربعاء|خميس|جمعة|سبت|أحد)|היום|מחר|אתמול|אחרי|לפני|ביום"
)
_MOMENT = regex(
    rf"\d|\b(?:{_TIMES}|\w+dag\b|\w+tai\b)|[一二三四五六七八九十][年月日点时時]|[曜晨夕朝晚夜昼]|[今明昨][天日]|"
    "周[一二三四五六日末]|星期|요일|오늘|내일|어제|아침|저녁|वार|आज|कल|सुबह|शाम|วัน|พรุ่งนี้|เมื่อวาน|hôm|ngày|sáng|chiều|tối",
    re.IGNORECASE,
)
PRICE = regex(
    r"\b(?:kost|cuest|co[uû]t|cost|cust|kosztow|kosztuj|сто[ия]|кошту|stoj|κοστίζ|tutuyor|vale|paga|plat[íi])|多少钱|いくら|"
    "얼마",
    re.IGNORECASE,
)
PEOPLE = regex(
    r"\b(?:crianças|niñ[oa]s|enfants?|bambini|дет[ией]\w*|kinderen|barnen?|dzieci|děti|παιδιά|çocuk\w*|anak|membros|miembros|membres|"
    r"soci|członk\w*|členov\w*|medlemm?ar|leden|člen\w*)\b|儿童|子供|어린이|बच्च|أطفال|trẻ em"
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


def has_figure(text: str, question: str) -> bool:
    """A number that the question does not hold already; a year is no price."""
    figures = _FIGURE.findall(_YEAR.sub(" ", text) if PRICE.search(question) else text)
    return any(figure.strip(".,:") not in question for figure in figures)


def has_time(text: str, question: str) -> bool:
    del question
    return _MOMENT.search(text) is not None
