"""What text must not leave home: credentials, and what identifies a person in a register. Names of people may.

Every pattern is bounded, so a line of any shape costs time linear in its length. Where a shape has a check (Luhn, IBAN), the
check decides; where it has none (telephone numbers), the shape must be one that dates, versions, ids and measurements don't have.
"""

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import log2

from hive_mind.memory.telephone import holds_telephone_number

CREDENTIAL, CARD, EMAIL = "a credential", "a card number", "an e-mail address"
TELEPHONE, ACCOUNT = "a telephone number", "a bank account number"

_SHAPES = re.compile(
    r"""
      -----BEGIN\ [A-Z ]{0,40}PRIVATE\ KEY
    | \b(?:AKIA|ASIA|AIDA|AROA|ABIA|ACCA)[A-Z0-9]{16}\b             # Amazon
    | \bgh[pousr]_[A-Za-z0-9]{30} | \bgithub_pat_\w{22}
    | \bglpat-[\w-]{20}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10} | \bhooks\.slack\.com/services/\w{5,30}/
    | \bAIza[\w-]{35} | \bya29\.[\w-]{20}                       # Google
    | \bsk-[\w-]{20} | \b[prs]k_(?:live|test)_\w{10}                # OpenAI, Anthropic, Stripe
    | \bnpm_[A-Za-z0-9]{36} | \bpypi-[\w-]{50} | \bhf_[A-Za-z0-9]{30}
    | \bSG\.[\w-]{16,64}\.[\w-]{16}                                 # SendGrid
    | \b\d{8,10}:[\w-]{35}\b                                        # Telegram
    | \beyJ[\w-]{8,600}\.[\w-]{8}                                    # JSON web token
    | \b(?:AccountKey|SharedAccessKey)=[\w+/]{20} | [?&;]sig=[\w%+/]{20}
    | \b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,100}:[^\s/@]{1,200}@
    | \b(?:[Bb]earer|[Bb]asic|BEARER|BASIC)\ {1,3}(?=[A-Za-z+/._~-]{0,40}\d)[\w+/.~-]{16}
    """,
    re.VERBOSE,
)

# "password: …", "DB_PASSWORD=…", '"api_key": "…"', "the PIN is …"
_NAMED = re.compile(
    r"""
    (?P<name> pass(?:word|wort|wd|phrase|code) | (?<![a-z])pwd | (?<![a-z])pin(?![a-z]) | kennwort
            | secret | token(?!s) | credential | api[ _-]?key | (?:access|private|secret|account|encryption|signing)[ _-]?key )
    [\w-]{0,24} ["'`\])]{0,2}
    \s{0,3} (?P<is> := | => | = | : | (?<=\s)(?:is|was|are|lautet|ist)(?=\s) ) \s{0,3}
    (?P<quote> ["'`]? ) (?P<value> [^\s"'`]{1,200} ) (?P<rest> .? )
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_PLACEHOLDER = re.compile(r"[<${\[(*•.…_-].*|x{3,200}|\W{1,200}|(?:none|null|nil|true|false|n/a|todo)\W{0,3}", re.IGNORECASE)
_ORDINARY = frozenset(
    "a about all also always an and any ask at be because been being by can case changed choose click contact correct "
    "create different empty enough enter expired for forgot from good has hashed have hidden how i important in incorrect "
    "invalid it kept known long lost may minimum missing must my necessary needed never new no not now of off old on one "
    "only optional or our out part per please public required reset right rotated safe same secret secure see set short "
    "should simple so some stored strong that the their there this to too unique unknown use used valid very weak what when "
    "where which will with without wrong you your".split()
)

# Something = a long run of characters nobody would say.
_ASSIGNED = re.compile(r"[=:]\s{0,3}[\"'`]?([A-Za-z0-9+/_-]{20,512})={0,2}")
_ENTROPY_BITS_MIN = 3.7
# Of 62 characters drawn by chance, 62 % of neighbours are of different kinds; of words in camelCase, 20 %.
_KIND_CHANGES_MIN = 0.4

_EMAIL = re.compile(
    r"[\w%+-](?<!\bgit)@[^\W_][\w-]{0,62}(?:\.[\w-]{1,63}){0,5}\.[^\W\d_]{2,24}\b"
    r"|\w\s?[\[(]\s?at\s?[\])]\s?[\w-]{1,63}\s?(?:\.|[\[(]\s?dot\s?[\])])\s?[^\W\d_]{2,24}\b"
)
_DIGITS_OF_A_CARD = re.compile(r"(?<![\d.,+])\d(?:[ -]?\d){12,18}(?![\d])")
# Visa, Mastercard, American Express, Diners, Discover and UnionPay, JCB: first digits and how many there are.
_CARDS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|6(?:011|2\d\d|4[4-9]\d|5\d\d)\d{12}(?:\d{3})?|35\d{14}"
)
_IBAN = re.compile(r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,4})?\b")


def credential_in(text: str) -> str:
    """`CREDENTIAL` where the text holds one, else ""."""
    is_told = any(map(_is_told, _NAMED.finditer(text)))
    return CREDENTIAL if is_told or _SHAPES.search(text) or any(map(_is_random, _ASSIGNED.findall(text))) else ""


def personal_data_in(text: str) -> str:
    """The first kind of personal data that the text holds, else ""."""
    kinds: tuple[tuple[str, Callable[[str], bool]], ...] = (
        (EMAIL, lambda t: bool(_EMAIL.search(t))),
        (ACCOUNT, lambda t: any(map(_is_iban, _IBAN.findall(t)))),
        (CARD, lambda t: any(map(_is_card, _DIGITS_OF_A_CARD.findall(t)))),
        (TELEPHONE, holds_telephone_number),
    )
    return next((kind for kind, holds in kinds if holds(text)), "")


def _is_told(match: re.Match[str]) -> bool:
    """Whether what stands behind "password is" is one, and not a word about it."""
    value = match["value"].rstrip(".,;!?)]}")
    if _PLACEHOLDER.fullmatch(match["value"]) or len(value) < 4:
        return False
    if value.isdecimal():
        return "token" not in match["name"].lower() or len(value) >= 6
    if any(c.isdigit() for c in value) or match["quote"]:
        return True
    is_last_word = not match["rest"].strip() or value != match["value"]
    is_assigned = match["is"] in {"=", ":", ":=", "=>"}
    if value.lower() in _ORDINARY or (not is_assigned and value.lower().endswith(("ed", "ing"))):
        return False
    is_password = match["name"].lower().startswith(("pass", "pwd", "kennwort"))
    return is_last_word or (is_assigned and (is_password or not value.isalpha()))


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
