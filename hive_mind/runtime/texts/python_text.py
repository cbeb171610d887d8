"""Python as notes: what its docstrings say, under the names they document, and its constants with what is remarked on them.

Read by Python's own parser; a file that it does not take stays as it is. Of other languages, which would need tree-sitter with a
grammar of a megabyte each, `source_text` knows the comments.
"""

import ast
import warnings
from collections.abc import Iterator, Sequence

_LEVELS_MAX = 6
_VALUE_CHARS_MAX = 200
_UNITS = {"s": "seconds", "sec": "seconds", "secs": "seconds", "ms": "milliseconds", "min": "minutes", "h": "hours"} | {
    unit: unit.upper() if unit in ("kb", "mb", "gb", "tb") else unit
    for unit in "seconds minutes hours days weeks bytes kb mb gb tb percent metres meters km kg kw volts".split()
}

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
    """Names with plain values, and others in capitals or with a remark above or a string below; of a function, its defaults."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _defaults(node.args)
        return
    for place, child in enumerate(node.body):
        target = child.targets[0] if isinstance(child, ast.Assign) else child.target if isinstance(child, ast.AnnAssign) else None
        value = getattr(child, "value", None)
        if not isinstance(target, ast.Name) or value is None:
            continue
        written, remark = ast.unparse(value), _remark(lines, child.lineno) or _string_below(node.body[place + 1 : place + 2])
        if len(written) <= _VALUE_CHARS_MAX and (target.id.isupper() or remark or _is_plain(value)):
            yield f"{target.id} = {written}{_unit(target.id, value)}" + (f" ({remark})" if remark else "")


def _defaults(arguments: ast.arguments) -> Iterator[str]:
    """The plain values that a function takes where none are given."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for argument, value in pairs:
        if isinstance(value, ast.Constant) and value.value not in (None, True, False, ""):
            yield f"{argument.arg} = {ast.unparse(value)}{_unit(argument.arg, value)} (default)"


def _is_plain(value: ast.expr) -> bool:
    """Whether a value says what it is, as numbers, texts and lists of them do."""
    plain = ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.expr_context
    return all(isinstance(part, plain) for part in ast.walk(value))


def _unit(name: str, value: ast.expr) -> str:
    """The unit that the last word of a name gives its number: 15 of `RETRY_SECONDS` are seconds."""
    is_number = isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool)
    last = name.rpartition("_")[2].lower()
    return f" {_UNITS[last]}" if is_number and last in _UNITS and "_" in name else ""


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
