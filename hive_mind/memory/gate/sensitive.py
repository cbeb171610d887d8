"""Text that must not leave home: credentials, and data that identifies a person in a register. Names of people may.

Every pattern is bounded, so a line of any shape costs time linear in its length. Where a shape has a check (Luhn, IBAN), the
check decides; where it has none (telephone numbers), the shape must be one that dates, versions, ids and measurements don't have.

Among them are numbers that a state, a tax office or an insurance knows a person by, and keys in the forms that vendors publish: a
prefix nobody writes by chance, then a fixed number of random characters.

Numbers of cards and of bank accounts: found by their check digits and their form, however their parts are kept apart.

Which digits are a telephone number: those in a shape, or behind a word, that other numbers are not found in.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from math import log2
from types import MappingProxyType

from hive_mind.memory.gate.disguises import forms_of
from hive_mind.memory.gate.stated_secrets import states_secret
from hive_mind.regex import regex

# "+49 30 1234567", "+1 (212) 555-0123", "0049-30-1234567"
_INTERNATIONAL = regex(r"(?<![\w.+)-])(?:\+|00(?=[1-9]\d{1,2}[ ()/-]))\(?[1-9](?:[ ()./-]{0,3}\d){7,14}(?!\d)")
# "(212) 555-0123", "1-800-555-0199"
_AMERICAN = regex(r"(?<![\w.,+-])(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])[2-9]\d\d[ .-]\d{4}(?![\w-]|[.,]\d)")
# "030 1234567", "0171/1234567", "020 7946 0958", "06 12 34 56 78", "01711234567"
_NATIONAL = regex(
    r"(?<![\w.,:/+#-])(?:\(0[1-9]\d{0,4}\)|0[1-9]\d{0,4})(?:[ /-]{1,3}\d{2,8}){1,5}(?![\w:-]|[.,]\d)"
    r"|(?<![\w.,:/+#-])0(?:1[5-7]\d{8,9}|7\d{9})(?![\w:-]|[.,]\d)"
)
# "call me at 555 0123"
_LABELLED = regex(
    r"\b(?:t[eé]l[eé](?:ph|f)on(?:[eo]|nummer)?|m[oó]vil|portable|cellulare|celular|telem[oó]vel|phone|mobile|cell(?:phone)?|fax|tel|handy(?:nummer)?|mobil|whatsapp|sms|call|ruf)\b"
    r"[^\d+\n(]{0,24}(?P<number>[+(]{0,2}\d(?:[ ()./-]{0,2}\d){6,14})(?![\w:]|[.,]\d)",
    re.IGNORECASE,
)
_TELEPHONE_DATE = regex(
    r"(?:19|20)\d\d[-/. ](?:0?[1-9]|1[0-2])\b|[0-3]?\d[-/. ][01]?\d[-/. ](?:19|20)\d\d\b|(?:19|20)\d\d[ -](?:19|20)\d\d$"
)
# 192.168.100.200, 10.15.7.3000, 1.500.000
_DOTTED = regex(r"\d{1,3}(?:\.\d{1,5}){2,4}")
_ROUND = regex(r"[1-9]\d{0,2}(?:[ .]\d{3}){2,5}")


def holds_telephone_number(text: str) -> bool:
    """Whether some digits of the text are one."""
    runs = [match[0] for shape in (_INTERNATIONAL, _AMERICAN, _NATIONAL) for match in shape.finditer(text)]
    if any(_is_number(run) for run in runs):
        return True
    labelled = [match["number"] for match in _LABELLED.finditer(text)]
    return any(_is_number(run, digits_min=7) and not _looks_dotted(run) for run in labelled)


def _is_number(run: str, digits_min: int = 9) -> bool:
    digits = "".join(c for c in run if c.isdigit())
    if not digits_min <= len(digits) <= 15 or len(set(digits)) == 1:
        return False
    bare = run.lstrip("+(")
    # "+10 000 000 000" is an amount: nobody's number ends in six zeros.
    return not (_TELEPHONE_DATE.match(bare) or digits.endswith("000000"))


def _looks_dotted(run: str) -> bool:
    return bool(_DOTTED.fullmatch(run)) or bool(_ROUND.fullmatch(run))


_RUN = regex(r"(?<![\d.,+])\d(?:[ -]?\d){12,18}+(?!\d)")
# Between the parts of one number a writer puts these; bars and commas keep numbers of a table or a list apart.
_BETWEEN = r"[^\w|,;+=()]{1,5}|_{1,3}"
_IN_PARTS = regex(
    rf"(?<![\w.,+-])(?:\d{{4}}(?P<a>{_BETWEEN})\d{{4}}(?P=a)\d{{4}}(?P=a)\d{{4}}(?:(?P=a)\d{{1,3}})?"
    rf"|\d{{4}}(?P<b>{_BETWEEN})\d{{6}}(?P=b)\d{{4,5}}|\d(?P<c>{_BETWEEN})\d(?:(?P=c)\d){{11,17}}+)(?![\d])"
)
_CARD_NUMBERS_NAMED = regex(
    r"(?i:\bcards?\b|\bvisa\b|master ?card|maestro|\bamex\b|american express|kredit|\bkarten?|\bcarte\b|tarjeta|\bcarta\b|cartão"
    r"|\bkaart|\bkart[aąęyu]\b|карт[аыуе]|بطاقة|卡|カード|कार्ड|\bkort)[^\d\n]{0,60}(?P<number>\d(?:[^\w]{0,5}\d){12,18}+)(?!\d)"
)
# Visa, Mastercard, American Express, Diners, Discover and UnionPay, JCB: first digits and how many there are.
_CARDS = regex(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|6(?:011|2\d\d|4[4-9]\d|5\d\d)\d{12}(?:\d{3})?|35\d{14}"
)
_NO_DIGIT = regex(r"\D+")

# After the two check digits: letters (a), digits (n) or both (c), and how many of each. From the registry of the standard.
_ACCOUNTS = (
    "AD 8n12c AE 19n AL 8n16c AT 16n AZ 4a20c BA 16n BE 12n BG 4a6n8c BH 4a14c BR 23n1a1c BY 4c4n16c CH 5n12c CR 18n "
    "CY 8n16c CZ 20n "
    "DE 18n DK 14n DO 4c20n EE 16n EG 25n ES 20n FI 14n FO 14n FR 10n11c2n GB 4a14n GE 2a16n GI 4a15c GL 14n GR 7n16c GT 4c20c "
    "HR 17n HU 24n IE 4a14n IL 19n IQ 4a15n IS 22n IT 1a10n12c JO 4a4n18c KW 4a22c KZ 3n13c LB 4n20c LC 4a24c LI 5n12c LT 16n "
    "LU 3n13c LV 4a13c LY 21n MC 10n11c2n MD 2c18c ME 18n MK 3n10c2n MR 23n MT 4a5n18c MU 4a19n3a NL 4a10n NO 11n PK "
    "4a16c PL 24n "
    "PS 4a21c PT 21n QA 4a21c RO 4a16c RS 18n RU 14n15c SA 2n18c SC 4a20n3a SE 20n SI 15n SK 20n SM 1a10n12c ST 21n SV 4a20n "
    "TL 19n TN 20n TR 6n16c UA 6n19c VA 18n VG 4a16n XK 16n"
)
_KIND_OF = {"a": "[A-Z]", "n": "[0-9]", "c": "[0-9A-Z]"}


def _form_of(spec: str) -> re.Pattern[str]:
    parts = re.findall(r"(\d{1,2})([anc])", spec)
    return regex(r"[A-Z]{2}\d\d" + "".join(f"{_KIND_OF[kind]}{{{count}}}" for count, kind in parts))


_FORM_BY_COUNTRY: Mapping[str, re.Pattern[str]] = MappingProxyType(
    dict(zip(_ACCOUNTS.split()[::2], map(_form_of, _ACCOUNTS.split()[1::2]), strict=True))
)
_COUNTRIES = "|".join(" ?".join(country) for country in _FORM_BY_COUNTRY)
_BEGINS = regex(
    rf"(?<![^\W_])(?=(?P<rest>(?i:{_COUNTRIES})"
    r"(?:[^\w]{0,3}_?\d){2}(?:[^\w]{0,3}_?[A-Za-z0-9]){11,30}+))"
)
_NO_ACCOUNT = regex(r"[^A-Za-z0-9]+")


def holds_card_number(text: str) -> bool:
    """Whether a part of the text is the number of a card."""
    return any(map(_is_card, _numbers(text)))


def holds_account_number(text: str) -> bool:
    """Whether a part of the text is an IBAN."""
    return any(_is_iban(_NO_ACCOUNT.sub("", match["rest"]).upper()) for match in _BEGINS.finditer(text))


def _numbers(text: str) -> Iterator[str]:
    yield from _RUN.findall(text)
    yield from (match[0] for match in _IN_PARTS.finditer(text))
    yield from (match["number"] for match in _CARD_NUMBERS_NAMED.finditer(text))


def _is_card(number: str) -> bool:
    bare = _NO_DIGIT.sub("", number)
    return bool(_CARDS.fullmatch(bare)) and is_luhn(bare)


def is_luhn(digits: str) -> bool:
    """Whether the last digit is the check of the others; False for what is no number."""
    if not (digits.isascii() and digits.isdigit()):
        return False
    doubled = [int(d) * (1 + n % 2) for n, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether it begins with one: what follows may be the next word."""
    form = _FORM_BY_COUNTRY.get(text[:2])
    match = form.match(text) if form else None
    return match is not None and int("".join(str(int(c, 36)) for c in match[0][4:] + match[0][:4])) % 97 == 1


_FORMS = {
    "private keys": r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY",
    "PuTTY": r"PuTTY-User-Key-File-\d",
    "age": r"\bAGE-SECRET-KEY-1[0-9A-Z]{50}",
    "Amazon": r"\b(?:AKIA|ASIA|AIDA|AROA|ABIA|ACCA)[A-Z0-9]{16}\b",
    "Adobe": r"\bp8e-[A-Za-z0-9]{32}",
    "Airtable": r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
    "Alibaba": r"\bLTAI[A-Za-z0-9]{12}",
    "Artifactory": r"\bAKC[A-Za-z0-9]{20}",
    "Atlassian": r"\bAT(?:ATT|CTT|BB)[A-Za-z0-9_=-]{20}",
    "Azure": r"\b(?:AccountKey|SharedAccessKey)=[\w+/]{20}|[?&;]sig=[\w%+/]{20}|\b\w{3}8Q~[\w.~-]{31}",
    "Buildkite": r"\bbkua_[0-9a-f]{40}",
    "CircleCI": r"\bCCIPAT_\w{20}",
    "crates.io": r"\bcio[A-Za-z0-9]{32}\b",
    "Databricks": r"\bdapi[0-9a-f]{32}",
    "DigitalOcean": r"\bdo[opr]_v1_[0-9a-f]{64}",
    "Discord": r"\bdiscord(?:app)?\.com/api/webhooks/\d{15,21}/[\w-]{20}|\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27}",
    "Docker": r"\bdckr_[po]at_[\w-]{20}",
    "Doppler": r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40}",
    "Dropbox": r"\bsl\.[\w-]{60}",
    "Figma": r"\bfig[dou]h?_[\w-]{38}",
    "Fly": r"\bfo1_[\w-]{40}|\bFlyV1 fm",
    "GitHub": r"\bgh[pousr]_[A-Za-z0-9]{30}|\bgithub_pat_\w{22}",
    "GitLab": r"\bgl(?:pat|dt|ptt|rt|ft|imt|agent|oas|cbt|soat)-[\w-]{20}",
    "Google": r"\bAIza[\w-]{35}|\bya29\.[\w-]{20}|\bGOCSPX-[\w-]{20}",
    "Grafana": r"\bgl(?:c|sa)_[A-Za-z0-9+/=]{30}",
    "Groq, Perplexity, Replicate, xAI": r"\bgsk_\w{40}|\bpplx-\w{40}|\br8_\w{35}|\bxai-\w{60}",
    "HashiCorp": r"\bhv[sbr]\.[\w-]{20}|\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{50}",
    "Heroku": r"\bHRKU-[\w-]{30}",
    "Hugging Face": r"\b(?:hf|api_org)_[A-Za-z0-9]{30}",
    "JSON web token": r"\beyJ[\w-]{8,600}\.[\w-]{8}",
    "Linear": r"\blin_(?:api|oauth)_\w{30}",
    "Mailchimp": r"\b[0-9a-f]{32}-us\d{1,2}\b",
    "Mailgun": r"\b(?:pub)?key-[0-9a-z]{32}\b",
    "Mapbox": r"\bsk\.eyJ",
    "Microsoft Teams": r"\.webhook\.office\.com/webhookb2/[\w@-]{30}",
    "Netlify, Vercel": r"\bnf[pcou]_\w{30}|\bvc[ipark]_\w{24}",
    "New Relic": r"\bNR(?:AK|II|JS|SP)-[A-Za-z0-9]{16}",
    "Notion": r"\bntn_\w{40}|\bsecret_[A-Za-z0-9]{43}\b",
    "npm, PyPI, RubyGems": r"\bnpm_[A-Za-z0-9]{36}|\bpypi-[\w-]{50}|\brubygems_[0-9a-f]{48}",
    "OpenAI, Anthropic": r"\bsk-[\w-]{20}",
    "1Password": r"\bops_eyJ|\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,5}[A-Z0-9]{5}\b",
    "PayPal": r"\baccess_token\$production\$",
    "PlanetScale": r"\bpscale_(?:tkn|pw|oauth)_[\w.=-]{30}",
    "Postman": r"\bPMAK-[0-9a-f]{24}-",
    "Pulumi": r"\bpul-[0-9a-f]{40}",
    "SendGrid": r"\bSG\.[\w-]{16,64}\.[\w-]{16}",
    "Sentry": r"\bsntr(?:ys_eyJ|yu_[0-9a-f]{64})",
    "Shopify": r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "Slack": r"\bxox[abeoprs]-[A-Za-z0-9-]{10}|\bxapp-\d-[A-Z0-9]{8}"
    r"|\bhooks\.slack\.com/(?:services|workflows|triggers)/\w{5,30}/",
    "Sonar": r"\bsq[puag]_[0-9a-f]{40}",
    "Square": r"\bsq0(?:atp|csp|idp)-[\w-]{22}",
    "Stripe": r"\b[prs]k_(?:live|test)_\w{10}|\bwhsec_\w{24}",
    "Supabase": r"\bsb(?:p|_secret)_\w{30}",
    "Tailscale": r"\btskey-[a-z]{3,10}-\w{10}",
    "Telegram": r"\b\d{8,10}:[\w-]{35}\b",
    "Twilio": r"\bSK[0-9a-f]{32}\b",
    "Yandex": r"\bAQVN[\w-]{35}|\by0_[\w-]{50}",
    "a URL with a password": r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,100}:[^\s/@]{1,200}@",
    "licences": r"(?i:\b(?:licen[cs]|lizenz|activation|product key)\w{0,12})[^\n.]{0,30}?[=: ]\s?"
    r"(?=[A-Z-]{0,30}\d)[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,6}\b",
    # "passw0rd", "p@ssword"
    "a password all know": r"(?i:\bp(?!assword)[a@4][s5$]{2}w[o0]rd)",
    "an HTTP header": r"\b(?:[Bb]earer|[Bb]asic|BEARER|BASIC) {1,3}(?=[A-Za-z+/._~-]{0,40}\d)[\w+/.~-]{12}",
    "a hash of a password": r"\$(?:\d|2[abxy]|y|argon2\w{1,2})\$[\w./$=,+-]{20}",
    "network devices": r"\bsnmp-server community \S{4}|\benable (?:secret|password) \S",
    # Twelve words and more, none of them short, as no sentence has them.
    "wallets": r"(?i:\b(?:seed|recovery|mnemonic|wallet)\b[^\n]{0,40}?)\b(?:[a-z]{3,8}[ ,]{1,2}){11}[a-z]{3,8}\b",
    "a command": r"\bcurl\b.{0,100}\s-u ?[\w.@-]{1,60}:[^\s$]{4}|\bmysql\w{0,6}\b.{0,100}\s-p[^\s$]{4}|\bsshpass -p ?[^\s$]{3}",
}
_ANY = regex("|".join(f"(?:{form})" for form in _FORMS.values()))
# All of the above have one of these; looking for it first takes a tenth of the time.
_MAY_BE = regex(
    r"\S{16}|://|eyJ"
    r"|(?i:snmp|enable |seed|recovery|mnemonic|wallet)"
    r"|(?i:private key|licen[cs]|lizenz|activation|product key|bearer|basic|curl|mysql|sshpass|p[a@4][s5$]{2}w[o0]rd)"
)


def holds_key(text: str) -> bool:
    """Whether a part of the text has the form of somebody's key, token or private key."""
    return bool(_MAY_BE.search(text) and _ANY.search(text))


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
    rf"(?:(?<!\w)(?i:{_NAMES})|(?:{_NAMES_INSIDE}))(?:[^.!?\n]{{0,40}}?(?:(?i:\b(?=\w)(?:{_SAID})\b)\.?|[:=是为為はが]|番号|号码|號碼))?"
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
    numbers = (match["number"] for match in _NAMED.finditer(text))
    return any(sum(c.isdigit() for c in number) >= _DIGITS_MIN and not _DATE.match(number) for number in numbers)


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


CREDENTIAL, CARD, EMAIL = "a credential", "a card number", "an e-mail address"
TELEPHONE, ACCOUNT, IDENTITY = "a telephone number", "a bank account number", "an identity number"

# Something = a long run of characters nobody would say.
_ASSIGNED = regex(r"[=:]\s{0,3}[\"'`]?([A-Za-z0-9+/_-]{20,512})={0,2}")
_ENTROPY_BITS_MIN = 3.7
# Of 62 characters drawn by chance, 62 % of neighbours are of different kinds; of words in camelCase, 20 %.
_KIND_CHANGES_MIN = 0.4

_EMAIL = regex(
    r"[\w%+-](?<!\bgit)@[^\W_][\w-]{0,62}(?:\.[\w-]{1,63}){0,5}\.[^\W\d_]{2,24}\b"
    r"|\w (?:dot \w{1,30} )?at [\w-]{2,30} dot (?:com|org|net|de|fr|es|it|pt|eu|uk|io|example)\b"
    r"|\w\s?[\[(]\s?at\s?[\])]\s?[\w-]{1,63}\s?(?:\.|[\[(]\s?dot\s?[\])])\s?[^\W\d_]{2,24}\b"
)


_DIGIT = regex(r"\d")
_NUMBERS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        ACCOUNT: holds_account_number,
        CARD: holds_card_number,
        IDENTITY: holds_identity_number,
        TELEPHONE: holds_telephone_number,
    }
)


def credential_in(text: str) -> str:
    """`CREDENTIAL` where the text holds one, in whatever disguise, else ""."""
    return sensitive_in(text, personal=False)


def personal_data_in(text: str) -> str:
    """The first kind of personal data that the text holds, in whatever disguise, else ""."""
    return sensitive_in(text, credentials=False)


def sensitive_in(text: str, *, credentials: bool = True, personal: bool = True) -> str:
    """The first kind that the text holds of what is looked for, in whatever disguise, else ""."""
    forms = tuple(forms_of(text))
    if credentials and any(map(_holds_credential, forms)):
        return CREDENTIAL
    return next(filter(None, map(_personal_data_in, forms)), "") if personal else ""


def _personal_data_in(form: str) -> str:
    if _EMAIL.search(form):
        return EMAIL
    # All others are numbers.
    return next((kind for kind, holds in _NUMBERS.items() if holds(form)), "") if _DIGIT.search(form) else ""


def _holds_credential(form: str) -> bool:
    return holds_key(form) or states_secret(form) or any(map(_is_random, _ASSIGNED.findall(form)))


def _is_random(run: str) -> bool:
    # Without dashes and slashes, which words of a path have between them.
    kinds = ["l" if c.islower() else "u" if c.isupper() else "d" for c in run if c.isalnum()]
    if set(kinds) != {"l", "u", "d"}:
        return False
    changes = sum(a != b for a, b in pairwise(kinds)) / (len(kinds) - 1)
    entropy = -sum(n / len(run) * log2(n / len(run)) for n in Counter(run).values())
    return changes >= _KIND_CHANGES_MIN and entropy >= _ENTROPY_BITS_MIN
