"""Numbers of cards and of bank accounts: found by their check digits and their form, however their parts are kept apart.

A check is right by chance for one number in ten (cards) or a hundred (accounts). So the parts must be those in which such numbers
are written, or a word must say what they are.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from hive_mind.regex import regex

_RUN = regex(r"(?<![\d.,+])\d(?:[ -]?\d){12,18}+(?!\d)")
# Between the parts of one number a writer puts these; bars and commas keep numbers of a table or a list apart.
_BETWEEN = r"[^\w|,;+=()]{1,5}|_{1,3}"
_IN_PARTS = regex(
    rf"(?<![\w.,+-])(?:\d{{4}}(?P<a>{_BETWEEN})\d{{4}}(?P=a)\d{{4}}(?P=a)\d{{4}}(?:(?P=a)\d{{1,3}})?"
    rf"|\d{{4}}(?P<b>{_BETWEEN})\d{{6}}(?P=b)\d{{4,5}}|\d(?P<c>{_BETWEEN})\d(?:(?P=c)\d){{11,17}}+)(?![\d])"
)
_NAMED = regex(
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
_LENGTH_MAX = 34


def holds_card_number(text: str) -> bool:
    """Whether a part of the text is the number of a card."""
    return any(map(_is_card, _numbers(text)))


def holds_account_number(text: str) -> bool:
    """Whether a part of the text is an IBAN."""
    return any(_is_iban(_NO_ACCOUNT.sub("", match["rest"]).upper()) for match in _BEGINS.finditer(text))


def _numbers(text: str) -> Iterator[str]:
    yield from _RUN.findall(text)
    yield from (match[0] for match in _IN_PARTS.finditer(text))
    yield from (found["number"] for found in _NAMED.finditer(text))


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
    found = form.match(text) if form else None
    return found is not None and int("".join(str(int(c, 36)) for c in found[0][4:] + found[0][:4])) % 97 == 1
