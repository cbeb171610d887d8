"""Which fields a kind of file has, section by section: for telling what was meant, and for explaining."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def section(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel] | None:
    """The section at a path such as ("spec", "agents", 2); None where there is none, or words of the user's own."""
    here: type[BaseModel] | None = model
    names = iter(path)
    for step in names:
        if isinstance(step, int):
            continue
        info = fields(here).get(step) if here else None
        if info and get_origin(info.annotation) is dict:
            # The next name is the user's own.
            next(names, None)
        here = section_of(info) if info else None
    return here


def section_of(info: FieldInfo) -> type[BaseModel] | None:
    """The section a field holds, alone, in a list or in a mapping."""
    return next(_sections(info.annotation), None)


def fields(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """Its fields by the name they have in a file."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def everywhere(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every field with its path, lists without their numbers: spec.agents.name."""
    for name, info in fields(model).items():
        here = f"{path}.{name}".removeprefix(".")
        yield here, info
        if inner := section_of(info):
            yield from everywhere(inner, here)


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        if issubclass(annotation, BaseModel):
            yield annotation
    else:
        for inner in get_args(annotation):
            yield from _sections(inner)
