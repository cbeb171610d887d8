"""`hive-mind retrieval`: how to search, as files: begun, described and checked here, measured, compared and only then deployed.

Every command works in a workspace, a folder of files. Their readers bring pydantic, so the commands that need it load it.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, examples
from hive_mind.cli.output import plain, say, show, show_indented, show_json, show_table, shown_source
from hive_mind.cli.retrieval import compare, deploy, tune, workspaces
from hive_mind.cli.running import USAGE
from hive_mind.counted import counted
from hive_mind.errors import ConfigError

if TYPE_CHECKING:
    from hive_mind.retrieval import Collection as CollectionFile
    from hive_mind.retrieval.contradictions import Description, FieldDescription
    from hive_mind.retrieval.validation import Checked
    from hive_mind.retrieval.workspace import Workspace


first = Group()


@first.called_as(
    "hive-mind retrieval init",
    "hive-mind retrieval init --workspace search/",
    "hive-mind retrieval init --workspace search/ --from ../hive/workspace",
)
async def init(
    workspace: workspaces.Folder = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Take over a workspace of document 000's project, and say what is changed."),
    ] = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Write a workspace to start from: documents, questions with labels, and a naive configuration.

    The folder has to be empty; nothing is overwritten. To use documents of your own, put them in place of those in
    documents/ and write your questions into evals/golden.json. With --from the files are another project's, converted.
    """
    if source is not None:
        _take_over(source, workspace, output)
        return
    from hive_mind.retrieval.starting import NAIVE
    from hive_mind.retrieval.starting import init as begun

    folder = workspaces.folder_of(workspace)
    written_workspace = begun(folder, has_embeddings=await workspaces.has_embeddings(embed, model))
    documents = _documents(written_workspace)
    golden = written_workspace.golden()
    held_out = len(golden.split("test"))
    summary = {
        "workspace": str(folder),
        "config": NAIVE,
        "method": written_workspace.config(NAIVE).retrieval.method,
        "documents": documents,
        "questions": len(golden.queries),
        "held_out": held_out,
    }
    if output is Format.JSON:
        show_json(summary)
        return
    show(f"{shown_source(str(folder.absolute()))} is written", style="bold")
    show(
        f"{counted(documents, 'document')}, {counted(len(golden.queries), 'question')} ({held_out} of them held out), "
        f"and the configuration {NAIVE},"
    )
    show(f"which searches by {summary['method']}. Next:")
    _show_next(("index", "evaluate", "tune --name better", "deploy better"), workspace)


def _take_over(source: Path, workspace: Path | None, output: Format) -> None:
    from hive_mind.retrieval.starting import begin, taken_over

    over, folder = taken_over(source), workspaces.folder_of(workspace)
    begun_workspace = begin(folder, over.files)
    documents = _documents(begun_workspace)
    if output is Format.JSON:
        show_json({"workspace": str(folder), "from": str(source), "documents": documents, "changes": over.changes})
        return
    show(f"{shown_source(str(folder.absolute()))} is written, {source} is as it was", style="bold")
    show(
        f"{documents} documents, {len(begun_workspace.configs())} configurations; changed:"
        if over.changes
        else "nothing was changed"
    )
    for change in over.changes:
        show_indented(change)
    _show_next(("validate", "index", "evaluate"), workspace)


def _documents(workspace: "Workspace") -> int:
    return sum(len(workspace.documents(workspace.collection(name)).seen) for name in workspace.collections())


def _show_next(lines: tuple[str, ...], workspace: Path | None) -> None:
    for line in lines:
        show(f"  hive-mind retrieval {line}{workspaces.option(workspace)}")


_VALUES_SHOWN = 8
_FINDINGS = 5


@first.called_as("hive-mind retrieval describe", "hive-mind retrieval describe handbook -o json")
async def describe(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="Which one.", show_default="all of them")] = "",
    workspace: workspaces.Folder = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Show what there is: fields, which of them can filter and their values with counts, configurations and questions.

    Read it before you write a configuration: a filter on a value that no document has finds nothing.
    """
    from hive_mind.retrieval.contradictions import contents, described

    folder = workspaces.opened(workspace)
    names = (collection,) if collection else folder.collections()
    files = [folder.collection(name) for name in names]
    contents_of_files = [contents(folder, file) for file in files]
    descriptions = [
        described(file, h.facets, len(h.documents), h.skipped) for file, h in zip(files, contents_of_files, strict=True)
    ]
    deployment, questions = folder.deployment(), _questions(folder)
    configs, active = folder.configs(), deployment.config if deployment else None
    if output is Format.JSON:
        about = {"configs": list(configs), "active": active, "questions": questions}
        show_json({"collections": [plain(description) for description in descriptions], **about})
        return
    for file, description in zip(files, descriptions, strict=True):
        _show_collection(file, description)
    config_names = [f"{name} (active)" if name == active else name for name in configs]
    show(f"configurations: {', '.join(config_names) or 'none'}")
    if questions is None:
        show("golden set: none; without evals/golden.json nothing can be measured")
        return
    show(
        f"golden set: {questions['all']} questions, {questions['train']} to tune on, {questions['test']} held out; "
        f"{questions['relevant']} relevant documents, {questions['distractors']} distractors"
    )


def _questions(folder: "Workspace") -> dict[str, int] | None:
    if not folder.golden_file.exists():
        return None
    golden = folder.golden()
    labels = {"relevant": sum(len(query.relevant) for query in golden.queries)}
    labels["distractors"] = sum(len(query.distractors) for query in golden.queries)
    splits = {name: sum(query.split == name for query in golden.queries) for name in ("train", "test")}
    return {"all": len(golden.queries), **splits, **labels}


def _show_collection(file: "CollectionFile", description: "Description") -> None:
    cut = file.chunking
    way = f"at headings up to level {cut.heading_level}" if cut.strategy == "by_heading" else "by length"
    show(f"collection {description.name}: {description.documents} documents in {file.documents_dir}/", style="bold")
    show(f"cut {way}, at most {cut.max_tokens} tokens, {cut.overlap_tokens} of them repeated")
    show_table(
        ["field", "type", "can filter", "values (documents that have each)"], [_row(field) for field in description.fields]
    )
    for skipped in description.skipped[:_FINDINGS]:
        say(f"note: {skipped.id} is left out: it {skipped.why}", style="yellow")
    if len(description.skipped) > _FINDINGS:
        say(f"note: {len(description.skipped) - _FINDINGS} more are left out; -o json names them", style="yellow")
    show()


def _row(field: "FieldDescription") -> tuple[str, str, str, str]:
    if field.type == "text" or not field.values:
        values = f"{field.values_count} values" if field.values else ""
    elif field.type in ("date", "number"):
        ordered = sorted(value for value, _ in field.values)
        values = f"{ordered[0]} to {ordered[-1]}, {field.values_count} values"
    else:
        shown_values = field.values[:_VALUES_SHOWN] if sys.stdout.isatty() else field.values
        values = " · ".join(f"{value} {count}" for value, count in shown_values)
        values += f" · … {field.values_count} in all" if len(shown_values) < field.values_count else ""
    return field.name, field.type, "yes" if field.is_filterable else "no", values


@first.called_as("hive-mind retrieval validate", "hive-mind retrieval validate better", "hive-mind retrieval validate -o json")
async def validate(
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG",
            help="Configurations.",
            show_default="everything in the workspace",
            autocompletion=workspaces.config_names,
        ),
    ] = None,
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
    from hive_mind.retrieval.validation import check_active

    folder = workspaces.opened(workspace)
    names = tuple(map(workspaces.name_of, configs or ())) or folder.configs()
    # Asked only where a configuration needs one, as loading it takes seconds.
    is_asked = any(_looks_at_meaning(folder, name) for name in (*names, *(() if configs else (workspaces.ACTIVE,))))
    has_embeddings = is_asked and await workspaces.has_embeddings(embed, model)
    findings_by_file = [
        (checked.file, checked.findings) for checked in _checked(folder, names, has_embeddings=has_embeddings, is_all=not configs)
    ]
    if not configs and folder.has_active:
        findings_by_file.append((folder.active_file, check_active(folder, has_embeddings=has_embeddings)))
    files = []
    for file, findings in findings_by_file:
        name, is_valid = str(file.relative_to(folder.root)), not any(finding.level == "error" for finding in findings)
        files.append({"file": name, "is_valid": is_valid, "findings": [plain(finding) for finding in findings]})
        if output is Format.TEXT and not findings:
            show(f"{name}: nothing is wrong")
        for finding in findings if output is Format.TEXT else ():
            note = "warning: " if finding.level == "warning" else ""
            show(f"{name}:{finding.line}: {finding.path}: {note}{finding.message}", style="yellow" if note else "red")
    if output is Format.JSON:
        show_json(files)
    if not all(file["is_valid"] for file in files):
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


def _looks_at_meaning(folder: "Workspace", name: str) -> bool:
    try:
        return workspaces.config_of(folder, name).retrieval.method != "keyword"
    except ConfigError:
        # Its faults are reported when it is checked.
        return False


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
for commands in (first, workspaces.group, compare.group, tune.group, deploy.group):
    group.add_typer(commands)
