"""`hive-mind credentials`: keep secrets encrypted, and refer to them by name. A value is never an argument, and never shown."""

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.learning import read_stdin
from hive_mind.cli.options import Format, Group, examples, settings_for
from hive_mind.cli.output import show_result
from hive_mind.counted import counted
from hive_mind.credentials import VALUE_BYTES_MAX, CredentialStore, checked_name, reference_to
from hive_mind.errors import InvalidInput
from hive_mind.runtime.secrets import credentials_of

Name = Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and dashes.")]

group = Group(
    name="credentials",
    help="Keep secrets encrypted, and refer to them by name.",
    no_args_is_help=True,
    epilog=examples(
        "hive-mind credentials set redis-password",
        "hive-mind credentials list",
        "hive-mind credentials rotate",
        "hive-mind credentials delete redis-password",
    ),
)


@group.called_as("hive-mind credentials set openai", "hive-mind credentials set openai < openai.key", name="set")
def set_value(name: Name, home: options.Home = None, output: options.Output = Format.TEXT) -> None:
    """Store a value, typed without being shown, or read from standard input. An existing one of this name is replaced."""
    # Before anybody types a value in vain.
    checked_name(name)
    store, reference = _store(home), reference_to(name)
    is_new = store.set(name, _value(name))
    sentence = f"{name} is {'set' if is_new else 'replaced'}; where it is to stand, write {reference}"
    show_result(output, {"name": name, "reference": reference, "is_new": is_new}, sentence)


@group.called_as("hive-mind credentials list", "hive-mind credentials list -o json", name="list")
async def list_names(home: options.Home = None, output: options.Output = Format.TEXT) -> None:
    """List the names, one per line. Values are never shown."""
    names = _store(home).names()
    document = [{"name": name, "reference": reference_to(name)} for name in names]
    show_result(output, document, names)


@group.called_as("hive-mind credentials rotate")
async def rotate(home: options.Home = None, output: options.Output = Format.TEXT) -> None:
    """Encrypt all of them with a new key and forget the former one. Values and names stay."""
    count = _store(home).rotate()
    show_result(output, {"rotated": count}, f"{counted(count, 'credential')} encrypted with a new key")


@group.called_as("hive-mind credentials delete redis-password")
async def delete(name: Name, home: options.Home = None, output: options.Output = Format.TEXT) -> None:
    """Delete one. Exit code 2 where there is none of this name."""
    if not _store(home).delete(name):
        raise InvalidInput(f"there is no credential {name}: hive-mind credentials list")
    show_result(output, {"name": name, "deleted": True}, f"{name} is deleted")


def _store(home: Path | None) -> CredentialStore:
    return credentials_of(settings_for(home).home)


def _value(name: str) -> str:
    """The value that is typed, or all of standard input without its last line end. Raises `InvalidInput`."""
    if sys.stdin.isatty():
        try:
            return getpass.getpass(f"Value of {name} (it is not shown): ")
        except EOFError:
            raise InvalidInput(f"no value was typed; {name} is as it was") from None
    # One more than is taken, and a line end.
    body = read_stdin(VALUE_BYTES_MAX + 3)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"the value of {name} is not text in UTF-8; {name} is as it was") from None
    return text.removesuffix("\n").removesuffix("\r")
