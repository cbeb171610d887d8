"""The first goal somebody writes: a commented file that is right as it is, with one example of each kind of check."""

_FIRST = """\
# A goal: what is wanted, and what must not happen. Check it with: hive-mind goal validate {file}
# All that can stand here: hive-mind goal explain
apiVersion: hive-mind/v1
kind: Goal
spec:
  id: {id}
  description: Say in a few sentences what is wanted.

  # How much of it is reached is the sum of what is met, by weight.
  successCriteria:
    - id: useful
      description: The summary answers the question, and names what is not known.
      weight: 2              # twice as much as each of the others
      metric: llm_judge      # a model or a person grades it
    - id: cites-sources
      metric: output_contains
      output: summary        # left out: all outputs, as one text
      target: "[1]"
    - id: short
      metric: condition      # a question to the outputs, in a part of Python
      target: len(output.summary) < 2000

  # What no success makes good. hard: nothing is accepted over it. soft: it is noted.
  constraints:
    - id: no-passwords
      description: No password in the logs.
      category: security
      check: "'password' not in str(result.get('logs', ''))"   # true as long as it is kept
    - id: polite
      constraintType: soft
      description: The tone is friendly.    # without a check: a model or a person says whether it is kept

  # What worker and judge should know: facts of the field, preferences.
  context:
    audience: people who are new to it

  outputs: [summary, logs]
  acceptAt: 0.9              # reached from this score on
"""


def first_goal(name: str, file: str) -> str:
    """The text of a file that begins a goal."""
    return _FIRST.format(id=name, file=file)
