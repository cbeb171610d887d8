"""Numbers that a state, a tax office or an insurance knows a person by.

Those with an unmistakable shape or a check are found wherever they stand; the others only behind what they are called, because a
part number looks the same.
"""

from hive_mind.memory.gate.card_numbers import is_luhn
from hive_mind.regex import regex

_SHAPES = regex(
    r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-])"  # United States
    r"|\b[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]\b"  # Italy
)
_BRAZILIAN = regex(r"(?<![\d.])\d{3}\.\d{3}\.\d{3}-\d\d(?!\d)")
_SPANISH = regex(r"\b[XYZ\d]-?\d{7}-?[A-Z]\b")
_FRENCH = regex(r"(?<!\d)[12] ?\d\d ?(?:0[1-9]|1[0-2]) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d(?!\d)")

_CHINESE = regex(r"(?<!\d)[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx](?!\d)")
_SWEDISH = regex(r"(?<![\d-])(?:19|20)?(\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])[-+]\d{4})(?![\d-])")
_RUSSIAN = regex(r"(?<![\d-])\d{3}-\d{3}-\d{3}[ -]\d\d(?![\d-])")
_INDIAN = regex(r"\b[A-Z]{3}P[A-Z]\d{4}[A-Z]\b")

_NAMES = (
    r"social security|national insurance|passport|driver'?s?'? licen[cs]e|driving licen[cs]e|tax (?:id|number)|taxpayer id"
    r"|identity card|ssn|nhs|steuer-?id\w{0,24}|steuernummer|(?:sozial|renten)versicherungs\w{0,8}|reisepass\w{0,8}"
    r"|(?:personal)?ausweis\w{0,8}|führerschein\w{0,8}|sécurité sociale|passeport|permis de conduire|carte d'identité|pasaporte"
    r"|seguridad social|\bdni|\bnie|carn[eé] de conducir|codice fiscale|passaporto|patente di guida|carta d'identità"
    r"|\bcpf|\bnif"
    r"|passaporte|segurança social|cartão de cidadão|carta de condução|\bbsn|burgerservicenummer|\bpesel"
    r"|paspoort\w{0,6}|rijbewijs\w{0,6}|identiteitskaart|\bnip\b|\bregon|dow[oó]d\w{0,2} osobist\w{1,4}"
    r"|paszport\w{0,2}|prawa? jazdy"
    r"|паспорт\w{0,2}|\bинн\b|\bснилс|водительск\w{2,4} удостоверени\w|personnummer\w{0,2}|körkort\w{0,3}"
    r"|kimlik (?:no|numara\w{0,3})"
    r"|aadhaar|\bpan\b(?= (?:card|number|no))"
)
# In scripts without spaces or with other word ends.
_NAMES_INSIDE = (
    r"身份[证證]|护照|護照|驾驶证|マイナンバー|パスポート|運転免許証?|在留カード|आधार|पैन(?: कार्ड)?|पासपोर्ट|ड्राइविंग लाइसेंस"
    r"|(?:رقم )?(?:ال)?(?:هوية|جواز|رخصة القيادة|إقامة)(?: الوطنية| السفر)?"
)
_SAID = (
    r"is|was|number|num[eé]ro|número|nr|no|n[°º]|n|lautet|ist|nummer|est|es|è|é|to|jest|är|numer|номер|это|هو|هي|رقم"
    r"|नंबर|संख्या|है|號碼|号码"
    r"|番号|number"
)
_NAMED = regex(
    rf"(?:(?<!\w)(?i:{_NAMES})|(?:{_NAMES_INSIDE}))(?:[^.!?\n]{{0,40}}?(?:(?i:\b(?:{_SAID})\b)\.?|[:=是为為はが]|番号|号码|號碼))?"
    r"[\s:：は是]{0,3}(?P<number>[A-Z\d](?:[ ./-]?[A-Z\d]){5,20})(?![A-Za-z\d])"
)
_DATE = regex(r"(?:19|20)\d\d[-/.]\d\d|\d\d?[-/.]\d\d?[-/.](?:19|20)\d\d")
# German passports have no more.
_DIGITS_MIN = 3


def holds_identity_number(text: str) -> bool:
    if _SHAPES.search(text) or any(map(_is_brazilian, _BRAZILIAN.findall(text))):
        return True
    if any(map(_is_chinese, _CHINESE.findall(text))) or any(map(_is_swedish, _SWEDISH.findall(text))):
        return True
    if any(map(_is_russian, _RUSSIAN.findall(text))) or _INDIAN.search(text):
        return True
    if any(map(_is_spanish, _SPANISH.findall(text))) or any(map(_is_french, _FRENCH.findall(text))):
        return True
    named = (match["number"] for match in _NAMED.finditer(text))
    return any(sum(c.isdigit() for c in number) >= _DIGITS_MIN and not _DATE.match(number) for number in named)


def _is_brazilian(number: str) -> bool:
    digits = [int(c) for c in number if c.isdigit()]
    checks = (sum((n + 2) * d for n, d in enumerate(reversed(digits[:length]))) * 10 % 11 % 10 for length in (9, 10))
    return digits[9:] == list(checks)


def _is_spanish(number: str) -> bool:
    bare = number.replace("-", "")
    return bare[-1] == "TRWAGMYFPDXBNJZSQVHLCKE"[int(bare[:-1].translate(str.maketrans("XYZ", "012"))) % 23]


def _is_french(number: str) -> bool:
    bare = number.replace(" ", "").replace("2A", "19").replace("2B", "18")
    return int(bare[-2:]) == 97 - int(bare[:-2]) % 97


def _is_chinese(number: str) -> bool:
    weighed = sum(int(c) * 2 ** (17 - place) for place, c in enumerate(number[:17]))
    return "10X98765432"[weighed % 11] == number[17].upper()


def _is_swedish(number: str) -> bool:
    return is_luhn(number.replace("-", "").replace("+", ""))


def _is_russian(number: str) -> bool:
    bare = number.replace("-", "").replace(" ", "")
    return sum(int(c) * (9 - place) for place, c in enumerate(bare[:9])) % 101 % 100 == int(bare[9:])
