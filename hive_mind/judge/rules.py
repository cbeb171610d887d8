"""Rules: conditions that decide without a model, the most important first. Pure.

The first that matches is definitive. One that fails on the data of a case is no match and is not passed over either: it might
have been the one that decides. A shadow rule, and one that is not yet rolled out to a case, is evaluated and decides nothing.

Rolling out: which cases a new rule decides, which judgements are audited, and when a rule is taken back.

A case is chosen by a hash of it under a key, so every process chooses the same without asking another, a larger share holds
every case of a smaller one, and who does not know the key can't tell which case will be looked at.

On trial: what a rule would do to facts or outputs that are there, and how often people decided otherwise.

Rules that people approved for a whole hive stand in its registry. A rule of the manifest overrides one of the hive with the same
id: the manifest is what people want. A rule that can't be read here, because a newer version wrote it, might be the one that
decides; so it is reported, and nothing new is let through.

A file with rules (`kind: Rules`) is read to them, or to all that is wrong with it, each with its line and what to do.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated, Any, Literal

import msgspec
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.alias_generators import to_camel

from hive_mind.errors import ConditionError, InvalidInput, RuleError
from hive_mind.forms import Finding, Form
from hive_mind.forms.reading import in_order, located, read
from hive_mind.goals.condition import Condition
from hive_mind.goals.goal import GoalSection
from hive_mind.judge.judgment import FACT, CaseKind, Example, JudgmentAction
from hive_mind.measure import wilson_bounds

Mode = Literal["active", "shadow", "retired"]
KIND = "rule"
"""Of the registry's entries that are rules."""
APPROVED_BY, TAKEN_BACK = "approved_by", "taken_back"
"""Where a rule's `metadata` says who let it into the hive, and why it is on trial again."""
LEARNED = "learned"
"""`metadata["source"]` of a rule that was made of people's decisions."""
MAY_ACCEPT = "may_accept"
"""Where `metadata` has this, a person allowed a learned rule to accept."""

STEPS = (0.1, 0.5, 1.0)
"""The shares of the cases that a rule decides, one after the other."""

# Fewer decisions could be one person on one day; it is also what calibration asks for.
DECISIONS_MIN = 20


def _action(action_given: Any) -> JudgmentAction:
    """Files have words, also where types are taken strictly."""
    if action_given in list(JudgmentAction):
        return JudgmentAction(action_given)
    raise ValueError(f"has to be {', '.join(JudgmentAction)}, not {str(action_given)[:40]!r}")


class EvaluationRule(GoalSection):
    """The action where a condition holds. A condition that does not compile is refused."""

    id: str = Field(min_length=1, max_length=100, description="Its name in judgements and for people.")
    condition: str = Field(description="When it matches: a condition over result, output and goal.")
    action: Annotated[JudgmentAction, BeforeValidator(_action)] = Field(description="The action for each match.")
    priority: int = Field(100, description="The highest is tried first; of equals, the first by id.")
    description: str = Field("", description="Its purpose, shown to people as the reason of a judgement.")
    feedback: str = Field("", description="Advice to the worker when it has to try again.")
    mode: Mode = Field("active", description="shadow: its verdict is only recorded.")
    rollout: float = Field(1.0, ge=0, le=1, description="The share of all cases that it decides.")
    on: Literal["any", "output", "fact"] = Field("any", description="Whether it is about outputs, about facts to share, or both.")
    metadata: dict[str, Any] = Field(default_factory=dict, description="Notes of your own, such as who approved it.")

    @field_validator("condition")
    @classmethod
    def _compiles(cls, condition: str) -> str:
        try:
            Condition(condition)
        except ConditionError as error:
            raise ValueError(f"the condition can't be used: {error}") from None
        return condition

    @model_validator(mode="after")
    def _may_accept(self) -> "EvaluationRule":
        is_learned = self.metadata.get("source") == LEARNED
        if is_learned and self.action is JudgmentAction.ACCEPT and self.metadata.get(MAY_ACCEPT) is not True:
            raise ValueError(f"a learned rule accepts only where a person allowed it: metadata.{MAY_ACCEPT}")
        return self


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that has something to say about a case; `broken`: why it could not be evaluated, "" where it matches."""

    rule: EvaluationRule
    broken: str = ""


class RuleSet:
    """Rules in the order they are asked. Raises `InvalidInput` for two of one id."""

    __slots__ = ("_asked", "has_shadows", "is_partial", "rules")

    def __init__(self, rules: Iterable[EvaluationRule] = ()) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: (-rule.priority, rule.id)))
        if twice := [id for id, times in Counter(rule.id for rule in self.rules).items() if times > 1]:
            raise InvalidInput(f"rule {twice[0]!r} occurs twice; give each an id of its own")
        self.is_partial = any(rule.rollout < 1.0 for rule in self.rules)
        """Whether some rule decides a share of all cases, so that their digests matter."""
        self.has_shadows = self.is_partial or any(rule.mode == "shadow" for rule in self.rules)
        """Whether some rule may be evaluated without deciding."""
        alive = [(rule, Condition(rule.condition)) for rule in self.rules if rule.mode != "retired"]
        self._asked = {on: [(rule, it) for rule, it in alive if rule.on in ("any", on)] for on in ("output", "fact")}

    def first(self, names: Mapping[str, object], on: CaseKind = "output", case_digest: str = "") -> Match | None:
        """The first rule that decides this case, or that should have and can't be evaluated."""
        for rule, condition in self._asked[on]:
            if _decides(rule, case_digest) and (match := _match(rule, condition, names)):
                return match
        return None

    def shadows(self, names: Mapping[str, object], on: CaseKind = "output", case_digest: str = "") -> list[Match]:
        """The matches of the rules that do not decide this case."""
        undecided = [(rule, condition) for rule, condition in self._asked[on] if not _decides(rule, case_digest)]
        return [match for rule, condition in undecided if (match := _match(rule, condition, names))]


def _decides(rule: EvaluationRule, case_digest: str) -> bool:
    return rule.mode == "active" and (rule.rollout >= 1.0 or chosen(case_digest, rule.rollout, rule.id))


def _match(rule: EvaluationRule, condition: Condition, names: Mapping[str, object]) -> Match | None:
    try:
        return Match(rule) if condition.put_to(names) else None
    except ConditionError as error:
        return Match(rule, str(error))


def chosen(case_digest: str, share: float, key: str) -> bool:
    """Whether this case is among the `share` of all cases that are chosen under this key."""
    name = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    number = blake2b(case_digest.encode("utf-8", "surrogatepass"), key=name, digest_size=8).digest()
    return int.from_bytes(number, "big") < share * 2**64


EXAMPLES_MAX = 5


@dataclass(slots=True)
class Trial:
    """The result of one rule. `first` counts the cases that no rule before it decides.

    `rightly` and `wrongly` are those of which people decided the same, or otherwise. `broken` counts cases that it can't be put
    to, and `why` says it of the first.
    """

    rule: EvaluationRule
    matched: int = 0
    first: int = 0
    rightly: int = 0
    wrongly: int = 0
    broken: int = 0
    why: str = ""
    examples: list[str] = field(default_factory=list)

    @property
    def decided(self) -> int:
        """Cases that it matched and people decided."""
        return self.rightly + self.wrongly

    def is_refuted(self, target: float) -> bool:
        """Whether it agrees with people less often than `target`, with 95 % confidence."""
        return self.decided > 0 and wilson_bounds(self.rightly, self.decided)[1] < target

    def next_share(self, share: float, target: float) -> float:
        """How much it may decide from now on: the next step after enough decisions, 0 once it is refuted."""
        if self.is_refuted(target):
            return 0.0
        if self.decided < DECISIONS_MIN or self.rightly < target * self.decided:
            return share
        return next((step for step in STEPS if step > share), 1.0)


def tried(rules: Iterable[EvaluationRule], cases: Iterable[Example]) -> list[Trial]:
    """All of them in the order they are asked, also those that are on trial or retired, put to every case."""
    trials = [(Trial(rule), Condition(rule.condition)) for rule in sorted(rules, key=lambda rule: (-rule.priority, rule.id))]
    for case in cases:
        _put(trials, case)
    return [trial for trial, _ in trials]


def _put(trials: Sequence[tuple[Trial, Condition]], case: Example) -> None:
    is_decided, on = False, FACT if case.kind == FACT else "output"
    for trial, condition in trials:
        if trial.rule.on not in ("any", on):
            continue
        try:
            if not condition.holds(result=case.result, output=case.result, goal={"id": "", "kind": case.kind}):
                continue
        except ConditionError as error:
            trial.broken += 1
            trial.why = trial.why or str(error)
            continue
        trial.matched += 1
        trial.first += not is_decided
        is_decided = is_decided or trial.rule.mode == "active"
        if case.person is not None:
            is_agreed = (case.person is JudgmentAction.ACCEPT) is (trial.rule.action is JudgmentAction.ACCEPT)
            trial.rightly += is_agreed
            trial.wrongly += not is_agreed
        if len(trial.examples) < EXAMPLES_MAX:
            trial.examples.append(case.case)


@dataclass(frozen=True, slots=True)
class RulesAtWork:
    """The rules that decide now. `unreadable`: why some rule of the hive can't be asked here, "" where all can.

    `is_known`: False as long as nobody has said which rules the hive has.
    """

    rules: RuleSet
    unreadable: str = ""
    is_known: bool = True


def key_of(rule_id: str) -> str:
    return f"{KIND}/{rule_id}"


def value_of(rule: EvaluationRule) -> str:
    return msgspec.json.encode(rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)).decode()


def rule_of(rule_fields: Any) -> EvaluationRule:
    """A rule as the registry, or a request, has it. Raises `InvalidInput`."""
    try:
        return EvaluationRule.model_validate(rule_fields)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise InvalidInput(f"{'.'.join(map(str, problem['loc'])) or 'it'}: {problem['msg']}") from None


def together(evaluation_rules: Iterable[EvaluationRule], entries: Mapping[str, Any]) -> RulesAtWork:
    """The rules of a manifest, which are in order, with those of its hive, as the registry has them."""
    rules, unreadable = {rule.id: rule for rule in evaluation_rules}, []
    for key, value in entries.items():
        try:
            rule = rule_of(value)
        except InvalidInput as error:
            unreadable.append(f"{key} of the hive can't be read here: {error}")
            continue
        if key_of(rule.id) == key:
            rules.setdefault(rule.id, rule)
        else:
            unreadable.append(f"{key} of the hive calls itself {rule.id!r}")
    return RulesAtWork(RuleSet(rules.values()), "; ".join(unreadable))


def known(entries: Mapping[str, Any]) -> dict[str, EvaluationRule]:
    """Those of a hive that can be read, by id."""
    return {rule.id: rule for rule in together((), entries).rules.rules}


def moved(rule: EvaluationRule, mode: Mode, share: float, by: str) -> EvaluationRule:
    """The rule as somebody wants it to be from now on."""
    metadata = {name: value for name, value in rule.metadata.items() if name != TAKEN_BACK} | {APPROVED_BY: by}
    return rule.model_copy(update={"mode": mode, "rollout": share, "metadata": metadata})


def taken_back(rule: EvaluationRule, why: str) -> EvaluationRule:
    return rule.model_copy(update={"mode": "shadow", "metadata": rule.metadata | {TAKEN_BACK: why}})


class RuleFileSpec(BaseModel):
    """Rules that decide without asking anybody."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    rules: list[EvaluationRule] = Field(min_length=1, description="The highest priority is tried first.")


class RuleFile(BaseModel):
    """Rules for the facts and the outputs of agents."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    api_version: Literal["hive-mind/v1"] = Field(description="The version of this form.")
    kind: Literal["Rules"] = Field(description="The kind of the file.")
    spec: RuleFileSpec


RULES = Form(
    "rules",
    RuleFile,
    begin="begin with `hive-mind file init rules`",
    help="hive-mind file explain rules",
    levels="five",
)


def rules_of(text: str, file: str = "rules") -> tuple[EvaluationRule, ...]:
    """The rules in the text of such a file. Raises `RuleError`."""
    found_read = read(text, RULES)
    if found_read.value is None:
        raise RuleError(found_read.problems, file)
    rules = found_read.value.spec.rules
    assert found_read.tree is not None  # noqa: S101 - there is a value
    first = {rule.id: number for number, rule in reversed(list(enumerate(rules)))}
    repeated = [
        Finding(("spec", "rules", number, "id"), f"is also the id of spec.rules[{first[rule.id]}]; choose another")
        for number, rule in enumerate(rules)
        if first[rule.id] != number
    ]
    if repeated:
        raise RuleError(in_order([located(finding, found_read.tree, RULES) for finding in repeated]), file)
    return tuple(rules)


FIRST = """\
# Rules: what is decided about facts before others learn of them, and about what runs give, before it counts.
# Check them with: hive-mind file validate FILE
# Try them on what an agent knows: hive-mind rules try FILE --agent NAME
# A fleet takes them by `ruleFiles: [rules/*.yaml]` in its manifest, for facts with `judge: {facts: rules}`; one run by --rules.
apiVersion: hive-mind/v1
kind: Rules
spec:
  rules:
    - id: prices
      description: a person checks prices     # the reason, for people
      condition: "'euros' in result.text"     # also concept, confidence, sources, speaker, before, labels, agent
      action: escalate                        # accept: share it · retry, replan: it stays home · escalate: ask a person
      priority: 200                           # the highest is asked first; 100 if left out
      on: fact                                # output: what runs give, by the names of their outputs · any: both

    - id: no-eval
      description: a person looks at code that runs texts
      condition: "'eval(' in result.get('code', '')"
      action: escalate                        # retry: the node does it again, with `feedback` · replan: a new plan
      on: output

    - id: rumours
      description: no rumours
      condition: "'rumour' in result.text.lower()"
      action: retry
      on: fact
      mode: shadow                            # on trial: it decides nothing yet
"""


def text_of_rules(rules: Sequence[EvaluationRule]) -> str:
    plain_rules = [rule.model_dump(mode="json", by_alias=True, exclude_defaults=True) for rule in rules]
    body = {"apiVersion": "hive-mind/v1", "kind": "Rules", "spec": {"rules": plain_rules}}
    return yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=130)
