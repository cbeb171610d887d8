"""`hive-mind eval`: its commands put together."""

from hive_mind.cli.evals import compare, gate, generate, listing, memory, report, retrieval, run
from hive_mind.cli.options import Group, examples

_EPILOG = examples(
    "hive-mind eval list",
    "hive-mind eval run quick",
    "hive-mind eval run standard --data ../shared/data --out runs/before",
    "hive-mind eval compare runs/before runs/after",
    "hive-mind eval memory questions.json",
)

group = Group(
    name="eval",
    help="Compare topologies, sizes and ways to retrieve on questions with known answers.",
    no_args_is_help=True,
    epilog=_EPILOG,
)
# In the order in which one needs them.
for module in (listing, run, report, compare, gate, generate, retrieval, memory):
    group.add_typer(module.group)
