"""`hive-mind retrieval`: how to search, as files that are checked, measured, compared and only then deployed.

Every command works in a workspace, a folder of files. Their readers bring pydantic, so the commands that need it load it.
"""

from hive_mind.cli.options import Group, examples
from hive_mind.cli.retrieval import compare, deploy, describe, evaluate, history, index, init, query, tune, validate

_EPILOG = examples(
    "hive-mind retrieval init",
    "hive-mind retrieval index",
    "hive-mind retrieval evaluate v1-naive",
    "hive-mind retrieval tune v1-naive --name better",
    "hive-mind retrieval deploy better",
)

group = Group(
    name="retrieval",
    help="Tune retrieval: configurations as files, measured before they are used.",
    no_args_is_help=True,
    epilog=_EPILOG,
)
# In the order in which one needs them.
for module in (init, describe, validate, index, query, evaluate, compare, tune, deploy, history):
    group.add_typer(module.group)
