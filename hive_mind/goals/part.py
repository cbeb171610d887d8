"""What people write in files: unknown fields are refused, and names stand there in camelCase."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class GoalSection(BaseModel):
    """A part of such a file. It is taken as it is: nothing is changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False)
