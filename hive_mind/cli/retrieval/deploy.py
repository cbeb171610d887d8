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
    from hive_mind.retrieval.measuring.evaluation import Bench
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
    if rollback:
        refuse_ineffective("--rollback, which measures nothing", force=force, dry_run=dry_run, embed=embed, model=model)
        if config:
            raise InvalidInput(f"--rollback takes what was in use before: leave {config!r} out")
        _roll_back(workspaces.opened(workspace), by or user(), reason, output)
        return
    if not config:
        raise InvalidInput("which configuration? Name one, or go back with --rollback")
    from hive_mind.retrieval.deployment import Order
    from hive_mind.retrieval.deployment import deploy as deployed

    if force and not reason.strip():
        raise InvalidInput('--force overrules the measurements and is recorded: say why with --reason "…"')
    folder, name = workspaces.opened(workspace), workspaces.known(workspaces.opened(workspace), config)
    configs = workspaces.readable(folder, [name, "active"])
    async with workspaces.bench_for(folder, configs, embed, model) as bench:
        if dry_run:
            outcome = await _judged(bench, name)
        else:
            outcome = await deployed(bench, Order(name, by or user(), reason, force))
    _show(folder, name, outcome, output, is_dry=dry_run)
    if code := _exit_code(outcome, is_dry=dry_run):
        raise typer.Exit(code)


def _roll_back(folder: "Workspace", by: str, reason: str, output: Format) -> None:
    from hive_mind.retrieval.deployment import rollback

    entry = rollback(folder, by, reason)
    if output is Format.JSON:
        show_json(plain(entry))
    else:
        show(f"{entry.config} is active again, in place of {entry.former}")


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


async def _judged(bench: "Bench", name: str) -> "DeploymentResult":
    from hive_mind.retrieval.deployment import DeploymentResult, judge_file

    _, verdict = await judge_file(bench, bench.workspace.active(), name)
    return DeploymentResult(verdict, None)


def _is_unchanged(verdict: "ConfigVerdict") -> bool:
    return any(ground.kind == "unchanged" for ground in verdict.grounds)


def _exit_code(outcome: "DeploymentResult", *, is_dry: bool) -> int:
    verdict = outcome.verdict
    if outcome.entry or _is_unchanged(verdict) or (is_dry and verdict.allowed):
        return 0
    return FAILED if verdict.level == "behavioural" else USAGE


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
    elif outcome.entry:
        _show_deployed(outcome)
    elif verdict.allowed and is_dry:
        show(f"{name} may be deployed: {verdict.why}", style="green")
    else:
        active = folder.deployment()
        stays = f"{active.config} stays active" if active else "nothing is active"
        overrule = "look closer with hive-mind retrieval compare; --force --reason TEXT overrules it and is recorded"
        reasons = (ground.message for ground in verdict.grounds)
        say_refused(f"refused: {name} is not deployed, {stays}", reasons, overrule if verdict.level == "behavioural" else "")


def _show_deployed(outcome: "DeploymentResult") -> None:
    entry = outcome.entry
    if entry is None:
        return
    former = f" in place of {entry.former}" if entry.former else ""
    if not entry.forced:
        show(f"{entry.config} is active{former}: {outcome.verdict.why}", style="green")
        return
    show(f"{entry.config} is active{former}, against the gate; recorded with the reason: {entry.why}", style="yellow")
    for message in entry.overruled:
        show(f"  overruled: {message}", style="yellow")


def _plain(name: str, outcome: "DeploymentResult") -> dict[str, Any]:
    verdict = outcome.verdict
    return {
        "config": name,
        "deployed": outcome.entry is not None,
        "allowed": verdict.allowed,
        "level": verdict.level,
        "why": verdict.why,
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
