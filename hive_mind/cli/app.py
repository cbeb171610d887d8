"""The `hive-mind` command: its subcommands put together, and `main`, which the installed script calls."""

import sys
from typing import Annotated

import typer

from hive_mind import __version__
from hive_mind.cli import agent, ask, broker, bus, demo, doctor, evaluate, events, facts, learn, reembed, simulate, stats
from hive_mind.cli.options import examples
from hive_mind.cli.running import STOPPED

_EPILOG = examples("hive-mind demo", "hive-mind learn notes/", 'hive-mind ask "When does the ferry leave?"')

app = typer.Typer(
    name="hive-mind",
    help="A memory for agents: it learns from your texts and answers with sources, or says that it does not know.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (learn, ask, facts, simulate, stats, doctor, demo, evaluate, reembed, agent, broker, bus, events):
    module.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hive-mind {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """What stands before a subcommand."""
    del version


def main() -> None:
    """Run the command line of this process, and end the process."""
    try:
        app(prog_name="hive-mind")
    except KeyboardInterrupt:
        # Between commands' own handling: while modules load, or a second Ctrl-C.
        sys.exit(STOPPED)
