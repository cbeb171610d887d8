"""Conditions: questions to plain data, in a subset of Python's expressions that only reads, always ends and stays small.

    Condition("'eval(' in result.get('code', '')").holds(result={"code": "print(1)"})      # False

They are compiled once, where the rule or goal is loaded; what does not compile is refused there. Evaluating costs some
microseconds. Any fault of a condition, or of the data it is put to, is a `ConditionError` and nothing else.

From the syntax tree of an expression to closures that pay for each step: what is not listed here can't be written at all.
"""

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from hive_mind.errors import ConditionError
from hive_mind.goals import functions
from hive_mind.goals.functions import (
    CALCULATIONS,
    COMPARISONS,
    FUNCTIONS,
    METHOD_NAMES,
    TYPES,
    Meter,
    bounded,
    call_method,
    elements,
    number,
    shown,
)

NODES_MAX = 200
DEPTH_MAX = 40

Value = Callable[[Meter], Any]


class _Loop(NamedTuple):
    """One `for … in … if …` of a comprehension. Several names take an element apart."""

    names: tuple[str, ...]
    over: Value
    conditions: tuple[Value, ...]


def compiled(tree: ast.expr) -> Value:
    """The value of an expression as a function. Raises `ConditionError` for what the language has not."""
    return _Compiler().value(tree, 0)


class _Compiler:
    def __init__(self) -> None:
        self._nodes = 0

    def value(self, node: ast.expr, depth: int) -> Value:
        self._nodes += 1
        if self._nodes > NODES_MAX or depth > DEPTH_MAX:
            raise ConditionError(f"it has more than {NODES_MAX} parts or {DEPTH_MAX} levels: write two conditions")
        compile_node = self._OF.get(type(node))
        if compile_node is None:
            raise ConditionError(f"{_CALLED.get(type(node), type(node).__name__)} can't be used here")
        return compile_node(self, node, depth + 1)

    def _values(self, nodes: Sequence[ast.expr], depth: int) -> list[Value]:
        return [self.value(node, depth) for node in nodes]

    def _constant(self, node: ast.Constant, depth: int) -> Value:
        del depth
        constant = node.value
        if isinstance(constant, int | float) and not isinstance(constant, bool):
            bounded(constant)
        elif constant is not None and not isinstance(constant, str | bool):
            raise ConditionError(
                f"{type(constant).__name__} values can't be used here: only texts, numbers, True, False and None"
            )
        return lambda _: constant

    def _name(self, node: ast.Name, depth: int) -> Value:
        del depth
        name = _public(node.id)
        if name in TYPES:
            return lambda _: TYPES[name]

        def read(meter: Meter) -> object:
            meter.pay()
            try:
                return meter.names[name]
            except KeyError:
                allowed = ", ".join(sorted(map(str, meter.names))[:10]) or "none"
                raise ConditionError(f"there is no {name}; known here: {allowed}") from None

        return read

    def _attribute(self, node: ast.Attribute, depth: int) -> Value:
        container, key = self.value(node.value, depth), _public(node.attr)

        def read(meter: Meter) -> object:
            meter.pay()
            mapping = container(meter)
            return mapping.get(key) if isinstance(mapping, dict) else None

        return read

    def _subscript(self, node: ast.Subscript, depth: int) -> Value:
        whole = self.value(node.value, depth)
        if isinstance(node.slice, ast.Slice):
            return self._slice(whole, node.slice, depth)
        index = self.value(node.slice, depth)

        def read(meter: Meter) -> object:
            container, key = _container(whole(meter)), index(meter)
            meter.pay_for_key(key)
            if isinstance(container, dict) and key not in container:
                raise ConditionError(f"there is no {shown(key)} in it; get() gives None instead")
            return container[key]

        return read

    def _slice(self, container: Value, node: ast.Slice, depth: int) -> Value:
        if node.step is not None:
            raise ConditionError("a slice has a beginning and an end, and no step")
        begin, end = (self.value(bound, depth) if bound else lambda _: None for bound in (node.lower, node.upper))

        def read(meter: Meter) -> object:
            value = _container(container(meter))
            meter.pay_for_copy(value)
            return value[begin(meter) : end(meter)]

        return read

    def _list(self, node: ast.List | ast.Tuple, depth: int) -> Value:
        parts = self._values(node.elts, depth)

        def made(meter: Meter) -> object:
            meter.pay(len(parts))
            return [part(meter) for part in parts]

        return made

    def _tuple(self, node: ast.Tuple, depth: int) -> Value:
        listed = self._list(node, depth)
        return lambda meter: tuple(listed(meter))

    def _dict(self, node: ast.Dict, depth: int) -> Value:
        keys = [key for key in node.keys if key is not None]
        if len(keys) < len(node.keys):
            raise ConditionError("** can't be used here: write the keys")
        pairs = list(zip(self._values(keys, depth), self._values(node.values, depth), strict=True))

        def made(meter: Meter) -> object:
            entries = {}
            for key, value in pairs:
                name = key(meter)
                meter.pay_for_key(name)
                entries[name] = value(meter)
            return entries

        return made

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, depth: int) -> Value:
        loops = tuple(self._loop(generator, depth) for generator in node.generators)
        element = self.value(node.elt, depth)

        def made(meter: Meter) -> object:
            outer, elements = meter.names, list[object]()
            meter.pay(1 + len(outer))
            meter.names = names = dict(outer)
            try:
                _go_through(meter, names, loops, lambda: elements.append(element(meter)))
            finally:
                meter.names = outer
            return elements

        return made

    def _loop(self, node: ast.comprehension, depth: int) -> _Loop:
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        names = tuple(_public(target.id) for target in targets if isinstance(target, ast.Name) and target.id not in TYPES)
        if node.is_async or len(names) < len(targets):
            raise ConditionError("a comprehension goes through a list by plain names: [x for x in …]")
        return _Loop(names, self.value(node.iter, depth), tuple(self._values(node.ifs, depth)))

    def _logic(self, node: ast.BoolOp, depth: int) -> Value:
        parts, stop = self._values(node.values, depth), isinstance(node.op, ast.Or)

        def decided(meter: Meter) -> object:
            value = None
            for part in parts:
                value = part(meter)
                if bool(value) is stop:
                    break
            return value

        return decided

    def _choice(self, node: ast.IfExp, depth: int) -> Value:
        test, yes, no = self._values((node.test, node.body, node.orelse), depth)
        return lambda meter: yes(meter) if test(meter) else no(meter)

    def _unary(self, node: ast.UnaryOp, depth: int) -> Value:
        value = self.value(node.operand, depth)
        if isinstance(node.op, ast.Not):
            return lambda meter: not value(meter)
        if isinstance(node.op, ast.USub):
            return lambda meter: -number(value(meter))
        raise ConditionError("the operators are + - * / // % and or not, and comparisons")

    def _binary(self, node: ast.BinOp, depth: int) -> Value:
        left, right = self._values((node.left, node.right), depth)
        calculate = CALCULATIONS.get(type(node.op))
        if calculate is None:
            raise ConditionError("the operators are + - * / // % and or not, and comparisons")
        return lambda meter: calculate(meter, left(meter), right(meter))

    def _comparison(self, node: ast.Compare, depth: int) -> Value:
        first = self.value(node.left, depth)
        rest = [
            (COMPARISONS[type(op)], self.value(comparator, depth))
            for op, comparator in zip(node.ops, node.comparators, strict=True)
        ]

        def compared(meter: Meter) -> object:
            left = first(meter)
            for compare, value in rest:
                right = value(meter)
                if not compare(meter, left, right):
                    return False
                left = right
            return True

        return compared

    def _call(self, node: ast.Call, depth: int) -> Value:
        if node.keywords:
            raise ConditionError("arguments have no names here")
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == functions.NAME:
            if len(node.args) != 2:
                raise ConditionError("matches(pattern, text) takes a pattern in quotes and a text")
            pattern, text = node.args[0], self.value(node.args[1], depth)
            is_found = functions.matcher(pattern.value if isinstance(pattern, ast.Constant) else None)
            return lambda meter: is_found(meter, text(meter))
        arguments = self._values(node.args, depth)
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHOD_NAMES:
            whole, method = self.value(node.func.value, depth), node.func.attr
            return lambda meter: call_method(meter, whole(meter), method, [argument(meter) for argument in arguments])
        function = FUNCTIONS.get(name)
        if function is None:
            raise ConditionError(_not_callable(node.func))

        def called(meter: Meter) -> object:
            return function(meter, *[argument(meter) for argument in arguments])

        return called

    _OF: Mapping[type[ast.expr], Callable[["_Compiler", Any, int], Value]] = {
        ast.Attribute: _attribute,
        ast.BinOp: _binary,
        ast.BoolOp: _logic,
        ast.Call: _call,
        ast.Compare: _comparison,
        ast.Constant: _constant,
        ast.Dict: _dict,
        ast.GeneratorExp: _comprehension,
        ast.IfExp: _choice,
        ast.List: _list,
        ast.ListComp: _comprehension,
        ast.Name: _name,
        ast.Subscript: _subscript,
        ast.Tuple: _tuple,
        ast.UnaryOp: _unary,
    }


_CALLED: Mapping[type[ast.expr], str] = {
    ast.Lambda: "a lambda",
    ast.NamedExpr: "an assignment (:=)",
    ast.JoinedStr: "an f-string",
    ast.Starred: "a *",
    ast.Set: "a set",
    ast.SetComp: "a set",
    ast.DictComp: "a comprehension of a dict",
    ast.Await: "await",
    ast.Yield: "yield",
}


def _go_through(meter: Meter, names: dict[str, object], loops: Sequence[_Loop], take: Callable[[], None]) -> None:
    """Bind the names of the loops, the last one fastest, and take each combination that fits."""
    loop, inner = loops[0], loops[1:]
    name = loop.names[0] if len(loop.names) == 1 else ""
    for element in elements(meter, loop.over(meter)):
        meter.pay(2)
        if name:
            names[name] = element
        else:
            if not isinstance(element, list | tuple) or len(element) != len(loop.names):
                raise ConditionError(f"an element can't be taken apart into {', '.join(loop.names)}")
            names.update(dict(zip(loop.names, element, strict=True)))
        for condition in loop.conditions:
            if not condition(meter):
                break
        else:
            _go_through(meter, names, inner, take) if inner else take()


def _container(value: Any) -> Any:
    if not isinstance(value, str | list | tuple | dict):
        raise ConditionError(f"{type(value).__name__} has no parts: only texts, lists and mappings have")
    return value


def _not_callable(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return f"{function.attr}() can't be called; methods are {', '.join(METHOD_NAMES)}"
    name = function.id if isinstance(function, ast.Name) else "this"
    return f"{name}() can't be called; functions are {', '.join(sorted((*FUNCTIONS, functions.NAME)))}"


def _public(name: str) -> str:
    if name.startswith("_"):
        raise ConditionError(f"{name} can't be used here: names do not begin with an underscore")
    return name


CHARS_MAX = 2_000

# The errors of Python for data that does not fit: 1/0, [][3], "a" < 1, [[...]].
_OF_DATA = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError)


class Condition:
    """One condition, ready to be evaluated. Raises `ConditionError` for a text that can't be one."""

    __slots__ = ("_value", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._value = compiled(_tree(text))

    def holds(self, /, **names: object) -> bool:
        """Whether it is true of these: texts, numbers, lists and mappings by name. Raises `ConditionError`."""
        return bool(self.put_to(names))

    def put_to(self, names: Mapping[str, object]) -> Any:
        """Its value for these names. Raises `ConditionError` for missing ones, and for data it fails on."""
        try:
            return self._value(Meter(names))
        except ConditionError:
            raise
        except _OF_DATA as error:
            raise ConditionError(f"it can't be evaluated on this data: {_error_text(error)}") from None

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _tree(text: str) -> ast.expr:
    if not isinstance(text, str) or not text.strip():
        raise ConditionError("a condition is a text, such as len(output.summary) > 0")
    if len(text) > CHARS_MAX:
        raise ConditionError(f"it has more than {CHARS_MAX:,} characters: write two conditions")
    try:
        with warnings.catch_warnings():
            # "1 is 1" and "\d" are the writer's business, and no line on standard error.
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        at = f" at character {error.offset}" if error.offset else ""
        raise ConditionError(f"it is not an expression: {error.msg}{at}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ConditionError("it can't be read as an expression: nested too deep, or with characters that are not text") from None


def _error_text(error: Exception) -> str:
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
