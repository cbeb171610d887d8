"""A manifest's sections about who looks after runs: the queen, the watch, and the notices of what waits for a person."""

from pydantic import Field

from hive_mind.control.manifests.part import ManifestSection
from hive_mind.judge.health import HealthSettings
from hive_mind.judge.items import REPLY_HOURS

_HEALTH = HealthSettings()


class Queen(ManifestSection):
    """The agent that acts on tickets about runs. People decide at its desk, unless `spec.judge.desk` names another."""

    agent: str = Field(
        "", description="Its agent. It runs its own worker for each ticket, or the one that comes with the program."
    )


class Health(ManifestSection):
    """The watch over the runs of the fleet, and from where on a run is in trouble."""

    agent: str = Field("", description="The agent beside which it looks; by default nobody does.")
    every_s: float = Field(_HEALTH.every_s, gt=0, description="Time between two checks.")
    warn: int = Field(_HEALTH.warn, ge=1, description="Steps in a row without anything accepted: a line in the log.")
    degraded: int = Field(_HEALTH.degraded, ge=1, description="Stalled steps before a ticket is opened.")
    critical: int = Field(_HEALTH.critical, ge=1, description="Stalled steps before a ticket, and the queen holds the run up.")
    stall_min: float = Field(_HEALTH.stall_min, gt=0, description="Minutes without any step: critical.")


class Notify(ManifestSection):
    """The recipient of a notice about each item of a run that waits for a person. By default there are none."""

    url: str = Field("", description="A webhook; each notice is signed with HIVE_MIND_HOOK_SECRET. May hold ${credential:…}.")
    command: list[str] = Field(default_factory=list, description="A command that gets each notice on its standard input.")
    link: str = Field(
        "",
        description="Where people reach the worker of the desk, such as https://hive.example; notices then have links to reply.",
    )
    hours: float = Field(REPLY_HOURS, gt=0, le=8760, description="How long such a link is of use.")
