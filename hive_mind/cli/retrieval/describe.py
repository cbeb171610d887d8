"""`hive-mind retrieval describe`: what there is to search, and what a configuration may filter by."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import plain, say, show, show_json, show_table
from hive_mind.cli.retrieval import workspaces

if TYPE_CHECKING:
    from hive_mind.retrieval.contradictions import Description, FieldDescription
    from hive_mind.retrieval.files.collection import Collection as CollectionFile
    from hive_mind.retrieval.files.workspace import Workspace

_VALUES_SHOWN = 8
_FINDINGS = 5

Collection = Annotated[str, typer.Argument(metavar="COLLECTION", help="Which one.", show_default="all of them")]


group = Group()


@group.called_as("hive-mind retrieval describe", "hive-mind retrieval describe handbook -o json")
async def describe(
    collection: Collection = "",
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
