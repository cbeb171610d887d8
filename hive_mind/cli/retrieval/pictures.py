"""`--plot FILE`: what was measured, as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli.output import say
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.retrieval.measured import Evaluation

Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", help="Draw score by rank with the cliff, UDCG by k, and UDCG against nDCG into this SVG file."
    ),
]


@dataclass(frozen=True, slots=True)
class Picture:
    """Where it will be."""

    file: Path

    def draw(self, evaluations: Sequence["Evaluation"]) -> None:
        """Write it. Raises `InvalidInput` where the file can't be written."""
        from hive_mind.retrieval.plotting import drawn

        try:
            self.file.write_text(drawn(evaluations), encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"{self.file} can't be written: {error.strerror or error}") from error
        say(f"drawn into {self.file}", style="dim")


def picture_file(plot: Path | None) -> Picture | None:
    """The picture that is wanted; asked before anything is measured. Raises `InvalidInput` for a name that is no SVG file's."""
    if plot is None:
        return None
    if plot.suffix.lower() != ".svg":
        raise InvalidInput(f"--plot writes SVG: name a file that ends in .svg, not {plot.name!r}")
    if not plot.absolute().parent.is_dir():
        raise InvalidInput(f"--plot: there is no folder {plot.parent}; make it, or name another file")
    return Picture(plot)
