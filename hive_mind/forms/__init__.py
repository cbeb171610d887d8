"""A kind of file: what it is called, what stands in it, how large it gets, and where its writer finds help.

Its fields, section by section, serve to see what was meant and to explain them to people; its JSON Schema serves editors.

Its contents are a tree of plain values that remember their lines, so that what is wrong is found before its line is known.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from types import NoneType
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hive_mind.errors import InvalidInput

# Longer than any variable's name; what is longer is no key but a slip.
_KEY_SHOWN = 100

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A value with its line (of its key, in a mapping), as `written` where it is a word or number, and with what is in it."""

    value: Any
    line: int
    written: str = ""
    parts: dict[str | int, "Tree"] = field(default_factory=dict)

    def at(self, path: Path) -> tuple["Tree", Path]:
        """A path's part, or the nearest around it, and the way to it. Where one may stand for a list of one, it is its first."""
        tree, way = self, list[str | int]()
        for step in path:
            if step == 0 and not isinstance(tree.value, list):
                continue
            if step not in tree.parts:
                break
            tree = tree.parts[step]
            way.append(step)
        return tree, tuple(way)


def spelled(path: Path, name_of_all: str = "file") -> str:
    """A path as people write it: spec.agents[2].name; `whole` where it leads nowhere."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_clipped(step)}" for step in path)
    return text.removeprefix(".") or name_of_all


def _clipped(key: str) -> str:
    return key if len(key) <= _KEY_SHOWN else f"{key[:_KEY_SHOWN]}…"


class TooMuch(Exception):
    """More than a file of its kind can hold; nothing more is read of it."""

    def __init__(self, line: int, what: str) -> None:
        self.line, self.what = line, what
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at a path. It falls away where what it `rests_on` is wrong itself. A warning stops nothing."""

    path: Path
    message: str
    rests_on: tuple[Path, ...] = ()
    is_warning: bool = False


M = TypeVar("M", bound=BaseModel)

SCHEMA_KEY = "$schema"
SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Form(Generic[M]):
    """The parameters of reading a file. Names of fields are those that stand in the file."""

    name: str
    """In messages, and the path of what is about the whole file: "manifest"."""
    model: type[M]
    begin: str
    """How to begin, for an empty file: "begin with `hive-mind file init manifest`"."""
    help: str
    """Where its fields are explained; a path may follow: "hive-mind file explain manifest"."""
    syntax: Literal["yaml", "json"] = "yaml"
    bytes_max: int = 1_000_000
    values_max: int = 50_000
    depth_max: int = 30
    levels: str = "six"
    """How deep it gets in earnest."""
    fewer: str = ""
    """The remedy for too many values."""
    secret: frozenset[str] = frozenset()
    """Keys whose value is not repeated: what stands there by mistake may be the secret itself."""
    patterns: Mapping[str, str] = field(default_factory=dict)
    """The form of text, in words, for each regular expression of the model."""
    in_short: Mapping[str, str] = field(default_factory=dict)
    """Sections that may be written as one word, by their path, and the field that word is."""

    def bound(self, line: int, depth: int, count: int) -> None:
        """Raises `TooMuch` for what is deeper or larger than any such file."""
        if depth > self.depth_max:
            raise TooMuch(line, f"nested deeper than {self.depth_max}; a {self.name} needs {self.levels} levels")
        if count > self.values_max:
            raise TooMuch(line, f"more than {self.values_max:,} values{self.fewer}")


def schema_of(form: Form[Any]) -> dict[str, Any]:
    schema = _untitled(form.model.model_json_schema(by_alias=True))
    if form.syntax == "json":
        schema["properties"][SCHEMA_KEY] = {"type": "string", "description": "For editors: where this schema is."}
    return {SCHEMA_KEY: SCHEMA_ID, **schema, "title": f"hive-mind {form.name}"}


def _untitled(schema: Any) -> Any:
    """Without the titles that repeat each field's name."""
    if isinstance(schema, list):
        return [_untitled(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _untitled(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}


def section(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel] | None:
    """The section at a path such as ("spec", "agents", 2); None where there is none, or words of the user's own."""
    current: type[BaseModel] | None = model
    names = iter(path)
    for step in names:
        if isinstance(step, int):
            continue
        info = fields(current).get(step) if current else None
        if info and get_origin(info.annotation) is dict:
            # The next name is the user's own.
            next(names, None)
        current = section_of(info) if info else None
    return current


def section_of(info: FieldInfo) -> type[BaseModel] | None:
    return next(_sections(info.annotation), None)


def fields(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    return {info.alias or name: info for name, info in model.model_fields.items()}


def everywhere(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every field with its path, lists without their numbers: spec.agents.name."""
    for name, info in fields(model).items():
        place = f"{path}.{name}".removeprefix(".")
        yield place, info
        if inner := section_of(info):
            yield from everywhere(inner, place)


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        if issubclass(annotation, BaseModel):
            yield annotation
    else:
        for inner in get_args(annotation):
            yield from _sections(inner)


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
