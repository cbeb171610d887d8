"""A setting is a field of one class: that of the part that it tunes, with its bounds and its help beside it."""

from dataclasses import is_dataclass
from typing import Annotated, get_args, get_origin

import pytest

from hive_mind.control.manifests import HiveManifest, ManifestSection
from hive_mind.control.planning.changes import READ
from hive_mind.forms import everywhere, section_of
from hive_mind.model.bounds import Setting

SECTIONS = {path: section for path, info in everywhere(HiveManifest) if (section := section_of(info))}
WRITTEN = {
    f"{path}.{info.alias}": (section, name, setting)
    for path, section in SECTIONS.items()
    for name, info in section.model_fields.items()
    for setting in info.metadata
    if isinstance(setting, Setting)
}


def parts_of(section: type) -> list[type]:
    return [base for base in section.__bases__ if is_dataclass(base)]


def test_every_setting_of_a_part_stands_in_the_manifest_once() -> None:
    parts = {part for section in SECTIONS.values() for part in parts_of(section)}
    marked = [
        (part.__name__, name)
        for part in parts
        for name, hint in vars(part)["__annotations__"].items()
        if get_origin(hint) is Annotated and any(isinstance(mark, Setting) for mark in get_args(hint))
    ]
    assert len(marked) == len(WRITTEN) > 50


@pytest.mark.parametrize("path", WRITTEN)
def test_a_setting_has_the_default_of_its_part_in_the_unit_that_people_write(path: str) -> None:
    section, name, setting = WRITTEN[path]
    (part,) = [part for part in parts_of(section) if name in part.__match_args__]
    info = section.model_fields[name]
    if info.default_factory is None:
        assert info.default == setting.written(getattr(part, name))
        assert issubclass(section, ManifestSection)


def test_a_plan_shows_every_setting_that_changes() -> None:
    assert {path for path in WRITTEN if not path.startswith("spec.mcp.")} <= READ.keys()
