"""`hive-mind retrieval history`: deployments, with person, time and reason."""

from typing import TYPE_CHECKING

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import plain, show, show_indented, show_json
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.retrieval.deploy import figures

if TYPE_CHECKING:
    from hive_mind.retrieval.deployment import Deployment

_WHAT = {"deploy": "deployed", "rollback": "rolled back to", "found": "found in use"}

group = Group()


@group.called_as("hive-mind retrieval history", "hive-mind retrieval history -n 3 -o json")
async def history(
    limit: options.Limit = 20,
    workspace: workspaces.Folder = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Show the deployments, the latest first: person, time, reason and figures."""
    from hive_mind.retrieval.deployment import read_deployments

    folder = workspaces.opened(workspace)
    entries = read_deployments(folder)[::-1][:limit]
    if output is Format.JSON:
        show_json([plain(entry) for entry in entries])
        return
    if not entries:
        show("Nothing was deployed yet: hive-mind retrieval deploy CONFIG")
    for deployment in entries:
        _show(deployment)


def _show(deployment: "Deployment") -> None:
    forced = " against the gate" if deployment.forced else ""
    former = f" in place of {deployment.former}" if deployment.former else ""
    by = f" by {deployment.by}" if deployment.by else ""
    when = deployment.at[:19].replace("T", " ") or "at an unknown time"
    show(f"{when}  {_WHAT[deployment.what]} {deployment.config}{former}{forced}{by}", style="yellow" if deployment.forced else "")
    if deployment.figures:
        show_indented(figures(deployment.figures), style="dim")
    if deployment.why:
        show_indented(f"reason: {deployment.why}")
    for message in deployment.overruled:
        show_indented(f"overruled: {message}", style="yellow")
