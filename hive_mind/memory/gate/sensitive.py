"""Text that must not leave home: credentials, and data that identifies a person in a register. Names of people may.

Every pattern is bounded, so a line of any shape costs time linear in its length. Where a shape has a check (Luhn, IBAN), the
check decides; where it has none (telephone numbers), the shape must be one that dates, versions, ids and measurements don't have.
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import log2

from hive_mind.memory.gate.identities import holds_identity_number
from hive_mind.memory.gate.key_formats import holds_key
from hive_mind.memory.gate.stated_secrets import states_secret
from hive_mind.memory.gate.telephone import holds_telephone_number
from hive_mind.regex import regex

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
_DIGITS_OF_A_CARD = regex(r"(?<![\d.,+])\d(?:[ -]?\d){12,18}(?![\d])")
# Visa, Mastercard, American Express, Diners, Discover and UnionPay, JCB: first digits and how many there are.
_CARDS = regex(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|6(?:011|2\d\d|4[4-9]\d|5\d\d)\d{12}(?:\d{3})?|35\d{14}"
)
_IBAN = regex(r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,4})?\b")


def credential_in(text: str) -> str:
    """`CREDENTIAL` where the text holds one, else ""."""
    is_one = holds_key(text) or states_secret(text) or any(map(_is_random, _ASSIGNED.findall(text)))
    return CREDENTIAL if is_one else ""


def personal_data_in(text: str) -> str:
    """The first kind of personal data that the text holds, else ""."""
    kinds: tuple[tuple[str, Callable[[str], bool]], ...] = (
        (EMAIL, lambda t: bool(_EMAIL.search(t))),
        (ACCOUNT, lambda t: any(map(_is_iban, _IBAN.findall(t)))),
        (CARD, lambda t: any(map(_is_card, _DIGITS_OF_A_CARD.findall(t)))),
        (IDENTITY, holds_identity_number),
        (TELEPHONE, holds_telephone_number),
    )
    return next((kind for kind, holds in kinds if holds(text)), "")


def _is_random(run: str) -> bool:
    # Without dashes and slashes, which words of a path have between them.
    kinds = ["l" if c.islower() else "u" if c.isupper() else "d" for c in run if c.isalnum()]
    if set(kinds) != {"l", "u", "d"}:
        return False
    changes = sum(a != b for a, b in pairwise(kinds)) / (len(kinds) - 1)
    entropy = -sum(n / len(run) * log2(n / len(run)) for n in Counter(run).values())
    return changes >= _KIND_CHANGES_MIN and entropy >= _ENTROPY_BITS_MIN


def _is_card(digits: str) -> bool:
    bare = digits.replace(" ", "").replace("-", "")
    return bool(_CARDS.fullmatch(bare)) and _luhn(bare)


def _luhn(digits: str) -> bool:
    doubled = [int(d) * (1 + n % 2) for n, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    bare = text.replace(" ", "").upper()
    if not 15 <= len(bare) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in bare[4:] + bare[:4])) % 97 == 1
