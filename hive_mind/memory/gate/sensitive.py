"""Text that must not leave home: credentials, and data that identifies a person in a register. Names of people may.

Every pattern is bounded, so a line of any shape costs time linear in its length. Where a shape has a check (Luhn, IBAN), the
check decides; where it has none (telephone numbers), the shape must be one that dates, versions, ids and measurements don't have.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from math import log2
from types import MappingProxyType

from hive_mind.memory.gate.card_numbers import holds_account_number, holds_card_number
from hive_mind.memory.gate.disguises import forms_of
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
