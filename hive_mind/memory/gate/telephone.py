"""Which digits are a telephone number: those in a shape, or behind a word, that other numbers are not found in.

Dates, versions, addresses of machines, amounts and ids have as many digits. So a bare run of digits counts only if it begins as
mobile numbers do; one that is grouped must be grouped as telephone numbers are.
"""

import re

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
_DATE = regex(
    r"(?:19|20)\d\d[-/. ](?:0?[1-9]|1[0-2])\b|[0-3]?\d[-/. ][01]?\d[-/. ](?:19|20)\d\d\b|(?:19|20)\d\d[ -](?:19|20)\d\d$"
)
# 192.168.100.200, 10.15.7.3000, 1.500.000
_DOTTED = regex(r"\d{1,3}(?:\.\d{1,5}){2,4}")
_ROUND = regex(r"[1-9]\d{0,2}(?:[ .]\d{3}){2,5}")


def holds_telephone_number(text: str) -> bool:
    """Whether some digits of the text are one."""
    found = [match[0] for shape in (_INTERNATIONAL, _AMERICAN, _NATIONAL) for match in shape.finditer(text)]
    if any(_is_number(run) for run in found):
        return True
    labelled = [match["number"] for match in _LABELLED.finditer(text)]
    return any(_is_number(run, digits_min=7) and not _looks_dotted(run) for run in labelled)


def _is_number(run: str, digits_min: int = 9) -> bool:
    digits = "".join(c for c in run if c.isdigit())
    if not digits_min <= len(digits) <= 15 or len(set(digits)) == 1:
        return False
    bare = run.lstrip("+(")
    # "+10 000 000 000" is an amount: nobody's number ends in six zeros.
    return not (_DATE.match(bare) or digits.endswith("000000"))


def _looks_dotted(run: str) -> bool:
    return bool(_DOTTED.fullmatch(run)) or bool(_ROUND.fullmatch(run))
