"""Text that must not leave home: credentials, and data that identifies a person in a register. Names of people may.

Every pattern is bounded, so a line of any shape costs time linear in its length. Where a shape has a check (Luhn, IBAN), the
check decides; where it has none (telephone numbers), the shape must be one that dates, versions, ids and measurements don't have.

Among them are numbers that a state, a tax office or an insurance knows a person by, and keys in the forms that vendors publish: a
prefix nobody writes by chance, then a fixed number of random characters.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from math import log2
from types import MappingProxyType

from hive_mind.memory.gate.card_numbers import holds_account_number, holds_card_number, is_luhn
from hive_mind.memory.gate.disguises import forms_of
from hive_mind.memory.gate.stated_secrets import states_secret
from hive_mind.memory.gate.telephone import holds_telephone_number
from hive_mind.regex import regex

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
