"""`hive-mind retrieval validate`: is a file of the right form, and does it make sense for these documents?"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import plain, show, show_json
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.running import USAGE
from hive_mind.errors import ConfigError

if TYPE_CHECKING:
    from hive_mind.retrieval.files.workspace import Workspace
    from hive_mind.retrieval.validation import Checked, FileFinding


Configs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CONFIG",
        help="Configurations.",
        show_default="everything in the workspace",
        autocompletion=workspaces.config_names,
    ),
]


group = Group()


@group.called_as("hive-mind retrieval validate", "hive-mind retrieval validate better", "hive-mind retrieval validate -o json")
async def validate(
    configs: Configs = None,
    workspace: workspaces.Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Report all that is wrong with files, with line, place and remedy; nothing is changed.

    Two of three levels: the form of a file, and whether it makes sense for these documents. The third, whether it finds better
    than what is in use, is measured by deploy (or deploy --dry-run). Exit code 2 where something is wrong; warnings are not
    errors.
    """
    folder = workspaces.opened(workspace)
    names = tuple(map(workspaces.name_of, configs or ())) or folder.configs()
    # Asked only where a configuration needs one, as loading it takes seconds.
    is_asked = any(_looks_at_meaning(folder, name) for name in (*names, *(() if configs else (workspaces.ACTIVE,))))
    has_embeddings = is_asked and await workspaces.has_embeddings(embed, model)
    findings_by_file = [
        (checked.file, checked.findings) for checked in _checked(folder, names, has_embeddings=has_embeddings, is_all=not configs)
    ]
    if not configs and folder.has_active:
        findings_by_file.append((folder.active_file, _active_findings(folder, has_embeddings=has_embeddings)))
    if output is Format.JSON:
        show_json([_plain(folder, file, findings) for file, findings in findings_by_file])
    else:
        for file, findings in findings_by_file:
            _show_findings(_shown(folder, file), findings)
    if any(finding.level == "error" for _, findings in findings_by_file for finding in findings):
        raise typer.Exit(USAGE)


def _checked(folder: "Workspace", names: Iterable[str], *, has_embeddings: bool, is_all: bool) -> Iterator["Checked[Any]"]:
    from hive_mind.retrieval.validation import check_collection, check_config, check_golden

    for name in names:
        yield check_config(folder, workspaces.known(folder, name), has_embeddings=has_embeddings)
    if not is_all:
        return
    collections = [check_collection(folder, name) for name in folder.collections()]
    yield from collections
    readable = [collection.value for collection in collections if collection.value is not None and not collection.errors]
    if folder.golden_file.exists() and readable:
        # Its documents are those of one collection, and it does not say of which: of the one it fits best.
        yield min((check_golden(folder, file) for file in readable), key=lambda checked: len(checked.errors))


def _active_findings(folder: "Workspace", *, has_embeddings: bool) -> tuple["FileFinding", ...]:
    from hive_mind.retrieval.validation import check_active

    return check_active(folder, has_embeddings=has_embeddings)


def _looks_at_meaning(folder: "Workspace", name: str) -> bool:
    try:
        return workspaces.config_of(folder, name).retrieval.method != "keyword"
    except ConfigError:
        # Its faults are reported when it is checked.
        return False


def _show_findings(name: str, findings: Sequence["FileFinding"]) -> None:
    if not findings:
        show(f"{name}: nothing is wrong")
    for finding in findings:
        note = "warning: " if finding.level == "warning" else ""
        show(f"{name}:{finding.line}: {finding.path}: {note}{finding.message}", style="yellow" if note else "red")


def _plain(folder: "Workspace", file: Path, findings: Sequence["FileFinding"]) -> dict[str, object]:
    is_valid = not any(finding.level == "error" for finding in findings)
    return {"file": _shown(folder, file), "is_valid": is_valid, "findings": [plain(finding) for finding in findings]}


def _shown(folder: "Workspace", file: Path) -> str:
    return str(file.relative_to(folder.root))
