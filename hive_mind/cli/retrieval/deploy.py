"""`hive-mind retrieval deploy|history`: put a configuration into use, if it finds better than what is in use now."""

import getpass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, refuse_ineffective
from hive_mind.cli.output import plain, say, say_refused, show, show_indented, show_json
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.retrieval.compare import plain_comparison, plain_evaluation, plain_grounds, show_comparison, show_evaluation
from hive_mind.cli.running import FAILED, USAGE
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.retrieval.deployment import Deployment, DeploymentResult
    from hive_mind.retrieval.measuring.verdict import ConfigVerdict
    from hive_mind.retrieval.workspace import Workspace


_LOSERS_SHOWN = 3

Force = Annotated[bool, typer.Option("--force", help="Deploy although the measurements speak against it; needs --reason.")]


group = Group()


@group.called_as(
    "hive-mind retrieval deploy better",
    "hive-mind retrieval deploy better --dry-run",
    'hive-mind retrieval deploy --rollback --reason "answers got slower"',
    'hive-mind retrieval deploy v1-naive --force --reason "the index of better is being rebuilt"',
)
async def deploy(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG", help="A configuration.", show_default="none, for --rollback", autocompletion=workspaces.config_names
        ),
    ] = "",
    rollback: Annotated[bool, typer.Option("--rollback", help="Go back to what was in use before.")] = False,
    force: Force = False,
    reason: Annotated[str, typer.Option("--reason", "-m", help="Why; it is kept in the history.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say whether it may; nothing is put into use.")] = False,
    by: Annotated[str, typer.Option("--by", help="The person responsible.", show_default="the user of this process")] = "",
    workspace: workspaces.Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Put a configuration into use, if it searches better than the active one.

    Three levels: its form, whether it makes sense for these documents, and what it finds, measured with the held-out questions.
    Refused are a lower nUDCG, more distractors, and a loss that the 95 % interval does not rule out: exit code 1, with the
    evidence. A file that is wrong is never deployed: exit code 2.

    --rollback puts back what was in use before, as it was then, even if its file has changed since. Repeated, it goes back
    further.
    """
    from hive_mind.retrieval.deployment import DeploymentResult, Order, judge_file
    from hive_mind.retrieval.deployment import deploy as deployed
    from hive_mind.retrieval.deployment import rollback as rolled_back

    if rollback:
        refuse_ineffective("--rollback, which measures nothing", force=force, dry_run=dry_run, embed=embed, model=model)
        if config:
            raise InvalidInput(f"--rollback takes what was in use before: leave {config!r} out")
        entry = rolled_back(workspaces.opened(workspace), by or user(), reason)
        if output is Format.JSON:
            show_json(plain(entry))
        else:
            show(f"{entry.config} is active again, in place of {entry.former}")
        return
    if not config:
        raise InvalidInput("which configuration? Name one, or go back with --rollback")
    if force and not reason.strip():
        raise InvalidInput('--force overrules the measurements and is recorded: say why with --reason "…"')
    folder, name = workspaces.opened(workspace), workspaces.known(workspaces.opened(workspace), config)
    configs = workspaces.readable(folder, [name, "active"])
    async with workspaces.bench_for(folder, configs, embed, model) as bench:
        if dry_run:
            outcome = DeploymentResult((await judge_file(bench, folder.active(), name))[1], None)
        else:
            outcome = await deployed(bench, Order(name, by or user(), reason, force))
    _show(folder, name, outcome, output, is_dry=dry_run)
    verdict = outcome.verdict
    if not (outcome.entry or _is_unchanged(verdict) or (dry_run and verdict.allowed)):
        raise typer.Exit(FAILED if verdict.level == "behavioural" else USAGE)


def user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        return "unknown"


def figures(measured: dict[str, Any]) -> str:
    if "nudcg_before" not in measured:
        return f"nUDCG {measured['nudcg']:.3f}, distractors {measured['distractors']}" if measured else ""
    low, high = measured.get("interval", (None, None))
    interval = f" [{low:+.3f} to {high:+.3f}]" if low is not None else ""
    return (
        f"nUDCG {measured['nudcg_before']:.3f} → {measured['nudcg']:.3f}{interval}, "
        f"distractors {measured['distractors_before']} → {measured['distractors']}"
    )


def _is_unchanged(verdict: "ConfigVerdict") -> bool:
    return any(ground.kind == "unchanged" for ground in verdict.grounds)


def _show(folder: "Workspace", name: str, outcome: "DeploymentResult", output: Format, *, is_dry: bool) -> None:
    if output is Format.JSON:
        show_json(_plain(name, outcome))
        return
    verdict = outcome.verdict
    for remark in verdict.remarks:
        say(f"note: {remark}", style="yellow")
    if verdict.comparison:
        show_comparison(verdict.comparison, 0 if verdict.allowed else _LOSERS_SHOWN)
        show()
    elif verdict.candidate:
        show_evaluation(verdict.candidate)
        show()
    if _is_unchanged(verdict):
        show(verdict.as_text)
    elif entry := outcome.entry:
        former = f" in place of {entry.former}" if entry.former else ""
        style, why = ("green", f": {verdict.why}")
        if entry.forced:
            style, why = ("yellow", f", against the gate; recorded with the reason: {entry.why}")
        show(f"{entry.config} is active{former}{why}", style=style)
        for message in entry.overruled if entry.forced else ():
            show(f"  overruled: {message}", style="yellow")
    elif verdict.allowed and is_dry:
        show(f"{name} may be deployed: {verdict.why}", style="green")
    else:
        active = folder.deployment()
        stays = f"{active.config} stays active" if active else "nothing is active"
        overrule = "look closer with hive-mind retrieval compare; --force --reason TEXT overrules it and is recorded"
        reasons = (ground.message for ground in verdict.grounds)
        say_refused(f"refused: {name} is not deployed, {stays}", reasons, overrule if verdict.level == "behavioural" else "")


def _plain(name: str, outcome: "DeploymentResult") -> dict[str, Any]:
    verdict = outcome.verdict
    return {
        "config": name,
        "deployed": outcome.entry is not None,
        **{name: getattr(verdict, name) for name in ("allowed", "level", "why")},
        "grounds": plain_grounds(verdict),
        "remarks": list(verdict.remarks),
        "entry": plain(outcome.entry) if outcome.entry else None,
        "results": [str(path) for path in outcome.results],
        "evaluation": plain_evaluation(verdict.candidate, with_questions=False) if verdict.candidate else None,
        "comparison": plain_comparison(verdict.comparison) if verdict.comparison else None,
    }


_WHAT = {"deploy": "deployed", "rollback": "rolled back to", "found": "found in use"}


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
        show(f"Nothing was deployed yet: hive-mind retrieval deploy CONFIG{workspaces.option(workspace)}")
    for deployment in entries:
        _show_deployment(deployment)


def _show_deployment(deployment: "Deployment") -> None:
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
