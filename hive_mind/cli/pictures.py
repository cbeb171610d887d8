"""Pictures for `--plot`: what they need is asked before anything is measured, and they are written when all was."""

from importlib.util import find_spec
from pathlib import Path

from hive_mind.cli.output import say
from hive_mind.errors import BackendNotInstalled, InvalidInput
from hive_mind.replacing import READABLE, write_whole
from hive_mind.retrieval.files.writing import writable


def picture_kind(plot: Path | None) -> str:
    """ "svg" or "png", by the file's name; "" where no picture is wanted.

    Raises `InvalidInput` for another name, `BackendNotInstalled` where nothing can be drawn.
    """
    if plot is None:
        return ""
    kind = plot.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise InvalidInput(f"--plot draws SVG or PNG: name a file that ends in .svg or .png, not {plot.name!r}")
    if not plot.absolute().parent.is_dir():
        raise InvalidInput(f"--plot: there is no folder {plot.parent}; make it, or name another file")
    if find_spec("matplotlib") is None:
        raise BackendNotInstalled("--plot", plot.name, "plots")
    return kind


def write_picture(plot: Path, picture: bytes) -> None:
    """Write it, and say where it is. Raises `InvalidInput` where it can't be written."""
    with writable(plot):
        write_whole(plot, picture, READABLE)
    say(f"drawn into {plot}", style="dim")
