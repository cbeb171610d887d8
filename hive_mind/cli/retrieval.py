"""`hive-mind retrieval`: how to search, as files that are checked, measured, compared and only then deployed.

Every command works in a workspace, a folder of files. What reads them brings pydantic, so the commands that need it load it.
"""

import typer

from hive_mind.cli import (
    retrieval_compare,
    retrieval_deploy,
    retrieval_describe,
    retrieval_evaluate,
    retrieval_history,
    retrieval_index,
    retrieval_init,
    retrieval_query,
    retrieval_tune,
    retrieval_validate,
)
from hive_mind.cli.options import examples

_EPILOG = examples(
    "hive-mind retrieval init",
    "hive-mind retrieval index",
    "hive-mind retrieval evaluate v1-naive",
    "hive-mind retrieval tune v1-naive --name better",
    "hive-mind retrieval deploy better",
)

group = typer.Typer(name="retrieval", help="Tune retrieval: configurations as files, measured before they are used.")
# In the order in which one needs them.
for module in (
    retrieval_init,
    retrieval_describe,
    retrieval_validate,
    retrieval_index,
    retrieval_query,
    retrieval_evaluate,
    retrieval_compare,
    retrieval_tune,
    retrieval_deploy,
    retrieval_history,
):
    module.register(group)


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, no_args_is_help=True, epilog=_EPILOG)


@group.callback()
def about() -> None:
    """Tune retrieval: configurations as files, measured before they are used."""
