"""Files with rules (`kind: Rules`): read to rules, or to all that is wrong with them, each with its line and what to do."""

from collections.abc import Sequence
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hive_mind.errors import RuleError
from hive_mind.forms.form import Form
from hive_mind.forms.reading import in_order, located, read
from hive_mind.forms.tree import Finding
from hive_mind.judge.rules import EvaluationRule


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
