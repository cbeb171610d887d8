"""`hive-mind rules`: look at rules, try them, learn them from decisions, and let them decide in the whole hive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import AnyAgent, Fleet
from hive_mind.cli.file import write_first
from hive_mind.cli.options import Format, Group, examples, settings_for
from hive_mind.cli.output import plain, say, show, show_json, show_prose, show_result, show_table
from hive_mind.cli.running import CommandError
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.judge import DECISIONS_MIN

if TYPE_CHECKING:
    from hive_mind.judge.mining import RuleProposal
    from hive_mind.judge.rules import EvaluationRule, Mode, Trial


Ids = Annotated[list[str] | None, typer.Argument(metavar="RULE", help="Ids of rules.", show_default="all in --from")]
From = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Rules that the hive does not have yet.", show_default=False)
]
Share = Annotated[
    float | None, typer.Option("--of", min=0.01, max=1, help="The share of all cases.", show_default="the next of 0.1, 0.5 and 1")
]
By = Annotated[str, typer.Option("--as", metavar="NAME", help="The name to decide under.", show_default="who is logged in")]


@dataclass(frozen=True, slots=True)
class OfFleet:
    """The fleet of the rules, and the form in which the result is printed."""

    fleet: Fleet = ""
    home: options.Home = None
    output: options.Output = Format.TEXT


RuleFiles = Annotated[
    list[Path] | None, typer.Argument(metavar="FILE", help="Files with rules.", show_default="those at work in the fleet")
]
On = Annotated[str, typer.Option("--on", metavar="FILE", help="Facts that `facts export` wrote, instead of an agent's.")]
AtLeast = Annotated[int, typer.Option("--at-least", min=2, max=10_000, help="Decisions that a rule must rest on.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write them there, on trial.", show_default=False)]

group = Group(
    name="rules",
    help="Look at rules, try them, and learn them from what people decided.",
    no_args_is_help=True,
    epilog=examples("hive-mind rules try rules/prices.yaml --agent harbour", "hive-mind rules propose --out rules/learned.yaml"),
)


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
    from hive_mind.judge.rules import text_of_rules

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
    document = {"facts": len(cases), "rules": [_plain(trial) for trial in trials]}
    show_result(at.output, document, lambda: _show_trials(trials, len(cases)))


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
    from hive_mind.judge.rules import text_of_rules

    decided = await decided_facts(home, agent)
    proposals = mine(decided, at_least)
    if out is not None and proposals:
        write_first(out, text_of_rules([proposal.proposed_rule for proposal in proposals]))
    if output is Format.JSON:
        show_json([_proposal(proposal) for proposal in proposals])
    elif not proposals:
        show(f"No rule follows from {counted(len(decided), 'decision')}: {at_least} alike are needed, and none that contradicts.")
    else:
        for proposal in proposals:
            rule = proposal.proposed_rule
            show(f"{rule.id}: {rule.action} where {rule.condition}", style="bold")
            show_prose(f"follows {counted(proposal.coverage, 'decision')}, {proposal.confidence:.0%} of those it matches")
            for title, cases in (("as in", proposal.examples), ("but not", proposal.near_misses)):
                for case in cases:
                    show_prose(f"{title}: {case}")
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


@group.called_as(
    "hive-mind rules approve --from rules/learned.yaml",
    "hive-mind rules approve no_prices",
    "hive-mind rules approve no_prices --of 1 --as ruth",
)
async def approve(ids: Ids = None, source: From = None, share: Share = None, by: By = "", *, at: OfFleet) -> None:
    """Let rules decide in the whole hive: a tenth of the cases at first, more each time they are approved again.

    The next step takes 20 decisions of people that agree with the rule; --of sets any share at once. It takes effect at every
    agent within seconds, and each checks all its facts again. A rule that people then decide against goes back on trial by
    itself.
    """
    await _decide("active", by, ids or [], source, at, share)


@group.called_as("hive-mind rules shadow no_prices", "hive-mind rules shadow --from rules/new.yaml")
async def shadow(ids: Ids = None, source: From = None, by: By = "", *, at: OfFleet) -> None:
    """Put rules of the hive on trial: they look at every fact and decide nothing. Facts that they held back are shared."""
    await _decide("shadow", by, ids or [], source, at)


@group.called_as("hive-mind rules retire no_prices")
async def retire(
    ids: Annotated[list[str], typer.Argument(metavar="RULE", help="Ids of rules.")], by: By = "", *, at: OfFleet
) -> None:
    """Retire rules of the hive. Facts that they held back are shared."""
    await _decide("retired", by, ids, None, at)


async def _decide(
    mode: "Mode", name: str, ids: Sequence[str], source: Path | None, at: OfFleet, share: float | None = None
) -> None:
    from hive_mind.cli.fleet import chosen_fleet, is_stopped
    from hive_mind.cli.review import person
    from hive_mind.cli.review.rules_found import desk_agent, plainly, read_files, review_of, rules_in, trials_by_people
    from hive_mind.judge.rules import known, moved

    by, settings = person(name), settings_for(at.home)
    if is_stopped(settings.home, chosen_fleet(settings.home, at.fleet)):
        raise CommandError("this fleet is stopped, so the rule can't be sent: hive-mind rollout restart starts it again")
    review = review_of(settings.home, at.fleet)
    if not review.desk.agent:
        raise InvalidInput("nobody speaks for people in this fleet: give its manifest `judge: {desk: AGENT}`, or {facts: rules}")
    rules = {rule.id: rule for rule in (read_files([source]) if source else ())}
    async with desk_agent(settings.home, at.fleet, review) as desk:
        evaluation_rules = known(await rules_in(desk))
        wanted_rules = _wanted(ids or list(rules), evaluation_rules | rules, {str(rule.get("id")) for rule in review.rules})
        trials = await trials_by_people(wanted_rules, settings.home, desk.name)
        # All are looked at before the first is changed.
        moves = []
        for trial in trials:
            there = evaluation_rules.get(trial.rule.id)
            now = there.rollout if there is not None and there.mode == "active" else 0.0
            rollout = trial.rule.rollout if mode != "active" else share or _next(trial, now)
            moves.append((moved(trial.rule, mode, rollout, by), trial))
        for rule, _ in moves:
            await desk.call("rule", rule=rule.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    show_result(at.output, [plainly(*move) for move in moves], [_move_text(*move) for move in moves])


def _wanted(ids: Sequence[str], rules: "Mapping[str, EvaluationRule]", of_manifest: set[str]) -> "list[EvaluationRule]":
    """Raises `InvalidInput` for one that is not there, or that the manifest decides about."""
    if not ids:
        raise InvalidInput("say which: ids of rules, or --from FILE")
    for rule_id in ids:
        if rule_id in of_manifest:
            raise InvalidInput(f"rule {rule_id} stands in the manifest: change it there, then hive-mind apply")
        if rule_id not in rules:
            hint = "hive-mind rules list shows them, and --from FILE brings new ones"
            raise InvalidInput(f"there is no rule {rule_id!r} in the hive: {hint}")
    return [rules[rule_id] for rule_id in dict.fromkeys(ids)]


def _next(trial: "Trial", now: float) -> float:
    """The share after `now`. Raises `InvalidInput` where people decided otherwise, or not enough yet."""
    from hive_mind.cli.review.rules_found import agreed
    from hive_mind.judge.calibration import TARGET
    from hive_mind.judge.judgment import JudgmentAction
    from hive_mind.judge.rules import DECISIONS_MIN, STEPS

    rule = trial.rule
    # One that asks people is never contradicted by what they say.
    asks = rule.action is JudgmentAction.ESCALATE
    if not asks and trial.is_refuted(TARGET):
        raise InvalidInput(f"{rule.id}: {agreed(trial)}: nothing was changed; --of SHARE approves it all the same")
    if now == 0.0 or asks:
        return next((step for step in STEPS if step > now), 1.0)
    after = trial.next_share(now, TARGET)
    if after == now < 1.0:
        problem = f"{rule.id} decides {now:.0%} of all cases, and the next step takes {DECISIONS_MIN} decisions that agree"
        raise InvalidInput(f"{problem} ({agreed(trial)}): nothing was changed; --of SHARE takes it all the same")
    return after


def _move_text(rule: "EvaluationRule", trial: "Trial") -> str:
    from hive_mind.cli.review.rules_found import agreed

    if rule.mode == "active":
        return f"{rule.id} decides {rule.rollout:.0%} of all cases from now on, at every agent ({agreed(trial)})"
    return f"{rule.id} is on trial: it decides nothing" if rule.mode == "shadow" else f"{rule.id} is retired"
