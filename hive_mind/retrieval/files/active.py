"""Which configuration is in use: `configs/active.json`.

Ours names a configuration and holds it as it was deployed, so that an edit of its file reaches nobody before it is deployed too.
In the public layout the file is a configuration itself, a copy or a link.
"""

from pydantic import Field

from hive_mind.retrieval.files.configuration import Name, Part, RetrievalConfig


class Active(Part):
    """The whole file. `hive-mind retrieval deploy` writes it; by hand, `{"config": "NAME"}` is enough."""

    config: Name = Field(description="The configuration in use.")
    deployed: RetrievalConfig | None = Field(None, description="As it was deployed; without it, as its file is now.")
    at: str = Field("", max_length=64, description="When it was deployed, ISO 8601.")
    by: str = Field("", max_length=200, description="Who deployed it.")
    why: str = Field("", max_length=2000, description="The reason given.")
    forced: bool = Field(False, description="Whether it was deployed against the gate.")
