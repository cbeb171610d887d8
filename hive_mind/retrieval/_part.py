"""What all files of a workspace have in common: what is not known is refused, and nothing is taken for something else."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A section of a file. Strict, so that `true` is no number and "5" none either."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True)
