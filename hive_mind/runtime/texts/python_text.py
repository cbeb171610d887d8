"""Python as notes: what its docstrings say, under the names they document, and its constants with what is remarked on them.

Read by Python's own parser; a file that it does not take stays as it is. Other languages would need tree-sitter with a grammar
of a megabyte each, and are learned as the text they are.
"""

import ast
import warnings
from collections.abc import Iterator, Sequence

_LEVELS_MAX = 6
_VALUE_CHARS_MAX = 200

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def text_of_python(source: str, title: str) -> str:
    """Headings, docstrings and constants in their order; the source itself where it can't be parsed or says nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        said = list(_said(tree, title, 1, source.splitlines()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    return "\n\n".join(said) + "\n" if said else source


def _said(node: Documented, title: str, level: int, lines: Sequence[str]) -> Iterator[str]:
    own = [ast.get_docstring(node) or "", *_constants(node, lines)]
    below = [
        part for child in node.body if isinstance(child, Documented) for part in _said(child, _title(child), level + 1, lines)
    ]
    said = [part for part in own if part]
    if said or below:
        yield f"{'#' * min(level, _LEVELS_MAX)} {title}"
        yield from said
        yield from below


def _title(node: Documented) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return f"{node.name}({ast.unparse(node.args)})"[:100]
    return getattr(node, "name", "")


def _constants(node: Documented, lines: Sequence[str]) -> Iterator[str]:
    """Names in capitals, and what a class says about its fields; with the remark above or the string below."""
    for place, child in enumerate(node.body):
        target = child.targets[0] if isinstance(child, ast.Assign) else child.target if isinstance(child, ast.AnnAssign) else None
        value = getattr(child, "value", None)
        if not isinstance(target, ast.Name) or value is None:
            continue
        written, remark = ast.unparse(value), _remark(lines, child.lineno) or _string_below(node.body[place + 1 : place + 2])
        if len(written) <= _VALUE_CHARS_MAX and (target.id.isupper() or remark):
            yield f"{target.id} = {written}" + (f" ({remark})" if remark else "")


def _remark(lines: Sequence[str], line: int) -> str:
    """The comment right above a line."""
    above: list[str] = []
    while line - 2 - len(above) >= 0 and lines[line - 2 - len(above)].lstrip().startswith("# "):
        above.append(lines[line - 2 - len(above)].strip(" #"))
    return " ".join(reversed(above))


def _string_below(following: Sequence[ast.stmt]) -> str:
    below = following[0] if following else None
    is_string = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    return " ".join(str(ast.literal_eval(below.value)).split()) if is_string and isinstance(below, ast.Expr) else ""
