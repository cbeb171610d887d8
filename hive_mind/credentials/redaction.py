"""Texts and JSON without the values of credentials: each occurrence becomes its reference, `${credential:NAME}`.

Pure. A value is found as it is, as JSON and URLs spell it, also twice over (JSON in JSON), and in base64 wherever in the encoded
bytes it begins. Overlapping values go as one piece, so no end of one value is left because another began inside it. Not found are
values that were hashed, encrypted, or broken over lines.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

from hive_mind.credentials import Secret, reference_to

_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
# Characters that encoders leave as they are: Python's, JavaScript's encodeURIComponent and encodeURI.
_LEFT_IN_URLS = ("", "/", "!'()*", ";/?:@&=+$,#!'()*")
# Go and many a web framework write these in JSON as numbers.
_NUMBERED_IN_JSON = {ord(character): f"\\u{ord(character):04x}" for character in "<>&'"}
_BITS_OF_BYTE, _BITS_OF_DIGIT = 8, 6


class _Form(NamedTuple):
    """One way to spell a value. `before` and `after`: digits of base64 around it that hold bits of it, too."""

    text: str
    reference: str
    before: int = 0
    after: int = 0


class _Place(NamedTuple):
    start: int
    end: int
    reference: str


class Redaction:
    """Replaces the values of some secrets, and of those `beside` them; those of texts that hold none are the same objects."""

    def __init__(self, secrets: Iterable[Secret], former: "Redaction | None" = None) -> None:
        self.forms: tuple[_Form, ...] = (former.forms if former else ()) + tuple(
            form for secret in secrets if (value := secret.reveal()) for form in _forms(value, reference_to(secret.name))
        )
        """Every way to spell one of them."""

    def text(self, text: str) -> str:
        places = sorted({place for form in self.forms for place in _places(form, text)})
        return _replaced(text, places) if places else text

    def value(self, value: Any) -> Any:
        """A value of JSON without them: its texts, keys of objects, and numbers, which then are texts."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.value(key): self.value(inner) for key, inner in value.items()}
            case list() | tuple():
                return [self.value(inner) for inner in value]
            case int() | float() if not isinstance(value, bool):
                return value if (redacted := self.text(shown := json.dumps(value))) == shown else redacted
            case _:
                return value


def _forms(value: str, reference: str) -> Iterator[_Form]:
    once = _in_json(value)
    # A value that no encoder changes has many equal spellings.
    spelled = {value, *once, *(twice for text in once for twice in _in_json(text)), *_in_urls(value)}
    yield from (_Form(text, reference) for text in sorted(spelled))
    yield from _in_base64(value.encode(), reference)


def _in_json(text: str) -> set[str]:
    plain = {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
    forms = plain | {form.replace("/", "\\/") for form in plain} | {form.translate(_NUMBERED_IN_JSON) for form in plain}
    return forms | {_with_large_digits(form, "\\u", 4) for form in forms}


def _in_urls(text: str) -> set[str]:
    forms = {quote(text, safe=left) for left in _LEFT_IN_URLS} | {quote_plus(text)}
    return forms | {_with_small_digits(form) for form in forms}


def _with_large_digits(text: str, mark: str, count: int) -> str:
    first, *parts = text.split(mark)
    return mark.join((first, *(part[:count].upper() + part[count:] for part in parts)))


def _with_small_digits(url: str) -> str:
    first, *parts = url.split("%")
    return "%".join((first, *(part[:2].lower() + part[2:] for part in parts)))


def _in_base64(body: bytes, reference: str) -> Iterator[_Form]:
    """Bytes are encoded in threes, so a value looks different at each place in them; digits at its ends hold bits of others."""
    for shift in range(3):
        start, end = shift * _BITS_OF_BYTE, (shift + len(body)) * _BITS_OF_BYTE
        first, last = -(-start // _BITS_OF_DIGIT), end // _BITS_OF_DIGIT
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            core = encode(b"\0" * shift + body + b"\0\0").decode()[first:last]
            yield _Form(core, reference, before=int(start % _BITS_OF_DIGIT > 0), after=int(end % _BITS_OF_DIGIT > 0))


def _places(form: _Form, text: str) -> Iterator[_Place]:
    at = text.find(form.text)
    while at >= 0:
        start, end = at, at + len(form.text)
        start -= form.before and text[start - 1 : start] in _BASE64
        end += form.after and text[end : end + 1] in _BASE64
        yield _Place(start, end, form.reference)
        at = text.find(form.text, at + 1)


def _replaced(text: str, places: Iterable[_Place]) -> str:
    """`places` in their order. Overlapping values are one piece, with the references of all."""
    parts: list[str] = []
    references: list[str] = []
    end = 0
    for place in places:
        if place.start >= end:
            parts += [*references, text[end : place.start]]
            references = []
        if place.reference not in references:
            references.append(place.reference)
        end = max(end, place.end)
    return "".join((*parts, *references, text[end:]))
