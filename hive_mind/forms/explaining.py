"""The fields of a kind of file, from its models themselves: for people, section by section."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hive_mind.errors import InvalidInput
from hive_mind.forms.form import Form, everywhere, fields, section_of

_WORDS: dict[object, str] = {str: "text", int: "whole number", float: "number", bool: "true|false", Any: "anything"}
_BOUNDS = (("gt", "more than"), ("ge", "at least"), ("lt", "less than"), ("le", "at most"))


@dataclass(frozen=True, slots=True)
class Explained:
    """A place in a file. `default` is "" where it is required or has none of its own; `fields` are those of a section."""

    path: str
    type: str
    default: str
    is_required: bool
    description: str
    fields: tuple["Explained", ...] = ()


def explained(path: str, form: Form[Any]) -> Explained:
    """The field at a path such as "spec.topology"; "" is the whole file. Raises `InvalidInput` for one that does not exist."""
    place = re.sub(r"\[\d*\]", "", path).strip(".")
    if not place:
        doc_text = " ".join((form.model.__doc__ or "").split())
        return Explained("", "section", "", True, doc_text, _fields("", form.model, form))
    field_infos = dict(everywhere(form.model))
    if place not in field_infos:
        place = _meant(place, field_infos, form)
    info = field_infos[place]
    inner = section_of(info)
    return _field(place, info, form, _fields(place, inner, form) if inner else ())


def _meant(place: str, field_infos: dict[str, FieldInfo], form: Form[Any]) -> str:
    """The one place whose path ends so; `file explain manifest topology` saves typing."""
    ends = [path for path in field_infos if path.lower() == place.lower() or path.endswith(f".{place}")]
    if len(ends) == 1:
        return ends[0]
    close = ends or get_close_matches(place, field_infos, n=3, cutoff=0.5)
    close = close or [path for path in field_infos if get_close_matches(place.split(".")[-1], [path.split(".")[-1]])][:3]
    hint = f"did you mean {' or '.join(close)}?" if close else f"{form.help} shows where to begin"
    raise InvalidInput(f"a {form.name} has no {place}; {hint}")


def _fields(path: str, model: type[BaseModel], form: Form[Any]) -> tuple[Explained, ...]:
    return tuple(_field(f"{path}.{name}".strip("."), info, form) for name, info in fields(model).items())


def _field(path: str, info: FieldInfo, form: Form[Any], inner: tuple[Explained, ...] = ()) -> Explained:
    model = section_of(info)
    described = info.description or " ".join((model.__doc__ or "").split() if model else ())
    kind = " ".join(filter(None, (_type(info.annotation), _bounds(info))))
    if path in form.in_short:
        kind += f", or its {form.in_short[path]} alone"
    return Explained(path, kind, _default(info), info.is_required(), described, inner)


def _type(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "|".join(map(str, inner))
    if origin in (list, Sequence):
        return f"list of {_type(inner[0])}" + ("s" if _type(inner[0]) == "section" else "")
    if origin is dict:
        return f"{_type(inner[1])} by name"
    if inner:
        return " or ".join(_type(inner_type) for inner_type in inner if inner_type is not NoneType)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return "|".join(annotation)
    return _WORDS.get(annotation, "section")


def _bounds(info: FieldInfo) -> str:
    found = {
        name: getattr(constraint, name)
        for constraint in info.metadata
        for name, _ in _BOUNDS
        if getattr(constraint, name, None) is not None
    }
    if found.keys() == {"ge", "le"}:
        return f"{found['ge']:g} to {found['le']:g}"
    bounds = ", ".join(f"{words} {found[name]:g}" for name, words in _BOUNDS if name in found)
    return f"({bounds})" if bounds else ""


def _default(info: FieldInfo) -> str:
    if info.is_required() or section_of(info) or info.default in (None, "") or info.default_factory:
        return ""
    if isinstance(info.default, bool):
        return str(info.default).lower()
    return f"{info.default:g}" if isinstance(info.default, float) else str(info.default)
