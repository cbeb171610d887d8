"""From a file of document 000's project to one of ours: what differs is changed, and every change is told.

There filterable fields are an object, files hold keys that nothing here reads, a configuration's file may be called otherwise
than it calls itself, and paths begin at the repository. Plain values in and out; which files there are is left to `taking_over`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from hive_mind.forms.form import Form
from hive_mind.forms.reading import validated
from hive_mind.forms.tree import Path, spelled
from hive_mind.retrieval.collection import FieldOf

Object = dict[str, Any]

_TYPES = get_args(FieldOf.model_fields["type"].annotation)
_WHY = {"embedding": ": the model is chosen by HIVE_MIND_EMBED_MODEL or --model"}


@dataclass(slots=True)
class Converted:
    """A file's value as it is now, and what was changed about it."""

    value: Object
    changes: list[str] = field(default_factory=list)

    def without_unknown(self, form: Form[Any]) -> "Converted":
        """Without the keys that this form does not know."""
        _, errors = validated(self.value, form)
        for error in errors:
            if error["type"] == "extra_forbidden":
                _take(self.value, error["loc"])
                self.changes.append(f"{spelled(error['loc'])} is left out{_WHY.get(str(error['loc'][-1]), ', nothing reads it')}")
        return self


def collection(value: Object, documents_dir: str) -> Converted:
    """A collection whose documents lie in this folder of the workspace."""
    found = Converted(dict(value))
    named = value.get("filterable_fields")
    if isinstance(named, dict):
        fields = {name: {"type": _type_of(told), "filterable": True} for name, told in named.items()}
        found.value["fields"] = {**fields, **_object(value, "fields")}
        del found.value["filterable_fields"]
        found.changes.append(f"filterable_fields is no list: {', '.join(fields)} declared under fields")
    if (told := value.get("documents_dir", "documents")) != documents_dir:
        found.value["documents_dir"] = documents_dir
        found.changes.append(f"documents_dir {told} is {documents_dir}, as seen from the workspace")
    return found


def configuration(value: Object) -> Converted:
    """A configuration. Where more results were allowed than are ever shown, the smaller number stays: it finds the same."""
    found = Converted(dict(value))
    top_k, most = _object(value, "retrieval").get("top_k", 10), _object(value, "dynamic_k").get("max_results")
    if isinstance(top_k, int) and isinstance(most, int) and most > top_k:
        found.value["dynamic_k"] = {**value["dynamic_k"], "max_results": top_k}
        found.changes.append(f"dynamic_k.max_results {most} is {top_k}: top_k shows no more")
    return found


def golden(value: Object, documents_dirs: Sequence[str]) -> Converted:
    """Questions whose documents may be given by a path that begins with one of these folders."""
    found = Converted(dict(value))
    queries = value.get("queries")
    if not isinstance(queries, list):
        return found
    found.value["queries"] = [_relabelled(one, documents_dirs) if isinstance(one, dict) else one for one in queries]
    if found.value["queries"] != queries:
        found.changes.append("documents are called by their path below the documents' folder")
    return found


def _relabelled(query: Object, folders: Sequence[str]) -> Object:
    labels = {name: list(_ids(query[name], folders)) for name in ("relevant", "distractors") if isinstance(query.get(name), list)}
    return query | labels


def _ids(paths: list[Any], folders: Sequence[str]) -> Iterator[Any]:
    for path in paths:
        inside = (path.removeprefix(f"{one}/") for one in folders if isinstance(path, str) and path.startswith(f"{one}/"))
        yield next(inside, path)


def _type_of(told: Any) -> str:
    type = str(told.get("type")) if isinstance(told, dict) else ""
    return type if type in _TYPES and type != "text" else "keyword"


def _object(value: Object, key: str) -> Object:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _take(value: Any, path: Path) -> None:
    *above, last = path
    for step in above:
        value = value[step]
    del value[last]
