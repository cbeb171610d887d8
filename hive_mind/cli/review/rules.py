"""`hive-mind rules`: look at rules, try them on what an agent knows, and learn them from what people decided."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import AnyAgent
from hive_mind.cli.file import write_first
from hive_mind.cli.options import Format, Group, examples, settings_for
from hive_mind.cli.output import plain, say, show, show_json, show_prose, show_table
from hive_mind.cli.review.rules_deciding import OfFleet, add_to
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.judge import DECISIONS_MIN

if TYPE_CHECKING:
    from hive_mind.judge.mining import RuleProposal
    from hive_mind.judge.rules import Trial

_HELP = "Look at rules, try them, and learn them from what people decided."

RuleFiles = Annotated[
    list[Path] | None, typer.Argument(metavar="FILE", help="Files with rules.", show_default="those at work in the fleet")
]
On = Annotated[str, typer.Option("--on", metavar="FILE", help="Facts that `facts export` wrote, instead of an agent's.")]
AtLeast = Annotated[int, typer.Option("--at-least", min=2, max=10_000, help="Decisions that a rule must rest on.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write them there, on trial.", show_default=False)]

group = Group(name="rules", help=_HELP, no_args_is_help=True)


@group.callback(
    epilog=examples("hive-mind rules try rules/prices.yaml --agent harbour", "hive-mind rules propose --out rules/learned.yaml")
)
def rules() -> None:
    """Look at rules, try them, and learn them from what people decided.

    A rule decides about a fact before others learn of it: it is shared, stays home, or waits for a person. `hive-mind file init
    rules` begins a file of them, `hive-mind file validate` checks one.
    """


@group.called_as("hive-mind rules list", "hive-mind rules list --fleet town -o json", name="list")
async def list_rules(at: OfFleet) -> None:
    """List the rules in force in a fleet, in the order in which they are asked."""
    from hive_mind.cli.review.rules_found import at_work, show_rules

    evaluation_rules = await at_work(settings_for(at.home).home, at.fleet)
    if at.output is Format.JSON:
        show_json([rule.model_dump(mode="json", by_alias=True) for rule in evaluation_rules])
    elif not evaluation_rules:
        show("No rules are at work here.")
    else:
        show_rules(evaluation_rules)


@group.called_as("hive-mind rules show no_prices", "hive-mind rules show no_prices -o json", name="show")
async def show_rule(rule: Annotated[str, typer.Argument(metavar="RULE", help="Its id.")], at: OfFleet) -> None:
    """Show a rule in force, as it would stand in a file, and how often people decided as it says."""
    from hive_mind.cli.review.rules_found import agreed, at_work, plainly, review_of, trials_by_people
    from hive_mind.judge.rule_file import text_of_rules

    where = settings_for(at.home).home
    evaluation_rules = [evaluation_rule for evaluation_rule in await at_work(where, at.fleet) if evaluation_rule.id == rule]
    if not evaluation_rules:
        raise InvalidInput(f"there is no rule {rule!r} at work: hive-mind rules list shows them")
    (trial,) = await trials_by_people(evaluation_rules, where, review_of(where, at.fleet).desk.agent)
    if at.output is Format.JSON:
        show_json(plainly(evaluation_rules[0], trial))
        return
    show(text_of_rules(evaluation_rules).rstrip())
    say(agreed(trial), style="dim")


@group.called_as("hive-mind rules try --agent harbour", "hive-mind rules try rules/*.yaml --on facts.jsonl -o json", name="try")
async def try_rules(files: RuleFiles = None, on: On = "", *, at: AnyAgent) -> None:
    """Show what each rule would do to what an agent knows, and how often people decided otherwise. Nothing is changed.

    Rules on trial and retired ones are tried, too. "first" are the facts that no rule before it decides.
    """
    from hive_mind.cli.review.rules_found import at_work, cases_in, cases_of, read_files
    from hive_mind.judge.rules import tried

    where = at.settings()
    evaluation_rules = read_files(files) if files else await at_work(where.home, at.fleet)
    cases = cases_in(on) if on else await cases_of(where, at.fleet, at.agent)
    trials = tried(evaluation_rules, cases)
    if at.output is Format.JSON:
        show_json({"facts": len(cases), "rules": [_plain(trial) for trial in trials]})
        return
    _show_trials(trials, len(cases))


@group.called_as("hive-mind rules propose", "hive-mind rules propose --at-least 20 --out rules/learned.yaml")
async def propose(
    at_least: AtLeast = DECISIONS_MIN,
    out: Out = None,
    agent: Annotated[str, typer.Option("--agent", "-a", help="Items of this agent.", show_default="all that was asked")] = "",
    home: options.Home = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Propose rules that people's decisions about facts already follow.

    They begin on trial (`mode: shadow`) and decide nothing: try them, then let them into the hive (`rules approve --from FILE`).
    One decision to the contrary removes a proposal.
    """
    from hive_mind.cli.review.rules_found import decided_facts
    from hive_mind.judge.mining import mine
    from hive_mind.judge.rule_file import text_of_rules

    decided = await decided_facts(home, agent)
    proposals = mine(decided, at_least)
    if out is not None and proposals:
        write_first(out, text_of_rules([proposal.proposed_rule for proposal in proposals]))
    if output is Format.JSON:
        show_json([_proposal(proposal) for proposal in proposals])
    elif not proposals:
        show(f"No rule follows from {counted(len(decided), 'decision')}: {at_least} alike are needed, and none that contradicts.")
    else:
        _show_proposals(proposals)
        say(f"{out} is written. Next: hive-mind rules approve --from {out}" if out else "--out FILE writes them, on trial")


def _show_trials(trials: "list[Trial]", facts: int) -> None:
    rows = [
        (t.rule.id, t.rule.action, t.rule.mode, *map(str, (t.matched, t.first, t.rightly, t.wrongly, t.broken))) for t in trials
    ]
    show_table(
        ["id", "action", "mode", "matched", "first", "people agreed", "decided otherwise", "broken"], rows, right=range(3, 8)
    )
    for trial in trials:
        for example in trial.examples:
            show_prose(f"{trial.rule.id}: {example}")
        if trial.broken:
            say(f"{trial.rule.id} can't be put to {counted(trial.broken, 'fact')}: {trial.why}", style="yellow")
    say(f"tried on {counted(facts, 'fact')}; nothing was changed", style="dim")


def _show_proposals(proposals: "list[RuleProposal]") -> None:
    for proposal in proposals:
        rule = proposal.proposed_rule
        show(f"{rule.id}: {rule.action} where {rule.condition}", style="bold")
        show_prose(f"follows {counted(proposal.coverage, 'decision')}, {proposal.confidence:.0%} of those it matches")
        for title, cases in (("as in", proposal.examples), ("but not", proposal.near_misses)):
            for case in cases:
                show_prose(f"{title}: {case}")


def _plain(trial: "Trial") -> dict[str, Any]:
    fields: dict[str, Any] = {name: getattr(trial, name) for name in ("matched", "first", "rightly", "wrongly", "broken", "why")}
    return {"id": trial.rule.id, **fields, "examples": trial.examples}


def _proposal(proposal: "RuleProposal") -> dict[str, Any]:
    rule = proposal.proposed_rule.model_dump(mode="json", by_alias=True)
    evidence = {
        "confidence": proposal.confidence,
        "coverage": proposal.coverage,
        "examples": proposal.examples,
        "nearMisses": proposal.near_misses,
    }
    return {"rule": rule, **{name: plain(value) for name, value in evidence.items()}}


add_to(group)
