"""Something that is wrong in a file, before its line is known."""

from dataclasses import dataclass

from hive_mind.forms.tree import Path


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at a path. It falls away where what it `rests_on` is wrong itself. A warning stops nothing."""

    path: Path
    message: str
    rests_on: tuple[Path, ...] = ()
    is_warning: bool = False
