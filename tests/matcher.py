"""A matcher of regular expressions that counts its steps, as Python's own backtracks.

Python's has no counter, and seconds say more about the machine than about an expression. This one walks the same syntax tree with
the same choices in the same order; its callers compare what it matches with what Python does.
"""

import re
import sys
from collections.abc import Callable
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

Go = Callable[[int], bool]
"""Whether the rest of an expression matches from a place on."""
Node = Callable[[int, Go], bool]

# A repetition of a group takes some frames for each round.
_FRAMES_MAX = 2_000_000
_ALTERNATIVES_MAX = 8
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


class TooManySteps(Exception):
    """More than the caller allows."""


def matchers(pattern: str, flags: int) -> list["Matcher"]:
    """That of an expression, or of each of its many alternatives: their number costs the same at every place of a text."""
    tree = _parser.parse(pattern, flags)
    ways = tree[0][1][1] if len(tree) == 1 and tree[0][0] is _constants.BRANCH else []
    return [Matcher(way) for way in ways] if len(ways) > _ALTERNATIVES_MAX else [Matcher(tree)]


class Matcher:
    """One expression."""

    def __init__(self, tree: Any) -> None:
        self.tree, self._state = tree, tree.state
        self.compiled: re.Pattern[str] = _compiler.compile(tree, tree.state.flags)
        self._single: list[Callable[[str], bool]] = []
        self._text = ""
        self._steps = self._steps_max = 0
        self._groups: dict[int, tuple[int, int]] = {}
        self._root = self._sequence(list(self.tree), ())

    def classes(self, alphabet: str) -> str:
        """Characters of an alphabet, one for each kind that the expression distinguishes."""
        kinds: dict[tuple[bool, ...], str] = {}
        for character in alphabet:
            kinds.setdefault(tuple(test(character) for test in self._single), character)
        return "".join(kinds.values())

    def admitted(self, item: Any, alphabet: str) -> str:
        """Of an alphabet what an item of the syntax tree matches, one character of a text."""
        match = self._compiled(item, ()).match
        return "".join(character for character in alphabet if match(character))

    def run(self, text: str, how: str, steps_max: int) -> tuple[int, list[tuple[int, int]]]:
        """The steps and the matches: all of a text ("search"), or the one at its beginning ("match", "fullmatch")."""
        # As it was afterwards: else a test of what nests without end goes two million calls deep.
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(_FRAMES_MAX)
        try:
            return self._matched(text, how, steps_max)
        finally:
            sys.setrecursionlimit(limit)

    def _matched(self, text: str, how: str, steps_max: int) -> tuple[int, list[tuple[int, int]]]:
        self._text, self._steps, self._steps_max = text, 0, steps_max
        spans: list[tuple[int, int]] = []
        at, empty_at = 0, -1
        while at <= len(text):
            self._groups = {}
            end = self._end(at, empty_at, is_whole=how == "fullmatch")
            if end is not None:
                spans.append((at, end))
                at, empty_at = end, end if end == at else -1
            else:
                at += 1
            if how != "search":
                break
        return self._steps, spans

    def _end(self, at: int, empty_at: int, *, is_whole: bool) -> int | None:
        """Where a match ends that begins at a place. At `empty_at` an empty one has been."""
        ends: list[int] = []

        def accept(end: int) -> bool:
            if (is_whole and end != len(self._text)) or (end == at == empty_at):
                return False
            ends.append(end)
            return True

        self._step()
        return ends[0] if self._root(at, accept) else None

    def _step(self, steps: int = 1) -> None:
        self._steps += steps
        if self._steps > self._steps_max:
            raise TooManySteps

    def _sequence(self, items: list[Any], scope: tuple[tuple[int, int], ...]) -> Node:
        nodes = [self._node(item, scope) for item in items]

        def walk(at: int, go: Go, place: int = 0) -> bool:
            if place == len(nodes):
                return go(at)
            return nodes[place](at, lambda end: walk(end, go, place + 1))

        return nodes[0] if len(nodes) == 1 else walk

    def _compiled(self, item: Any, scope: tuple[tuple[int, int], ...]) -> Any:
        for add, drop in scope:
            item = (_constants.SUBPATTERN, (None, add, drop, _parser.SubPattern(self._state, [item])))
        return _compiler.compile(_parser.SubPattern(self._state, [item]), self._state.flags)

    def _node(self, item: Any, scope: tuple[tuple[int, int], ...]) -> Node:
        kind, value = item
        if kind in _REPEATS:
            return self._repeat(kind, value, scope)
        if kind is _constants.SUBPATTERN:
            group, add, drop, items = value
            return self._group(group, self._sequence(list(items), ((add, drop), *scope) if add or drop else scope))
        if kind is _constants.ATOMIC_GROUP:
            return self._atomic(self._sequence(list(value), scope))
        if kind is _constants.BRANCH:
            return self._branch([self._sequence(list(items), scope) for items in value[1]])
        if kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            return self._look(kind is _constants.ASSERT, value, scope)
        if kind is _constants.GROUPREF:
            return self._reference(value)
        if kind is _constants.GROUPREF_EXISTS:
            group, then, other = value
            return self._conditional(group, self._sequence(list(then), scope), self._sequence(list(other or ()), scope))
        if kind is _constants.AT:
            match = self._compiled(item, scope).match
            return lambda at, go: (self._step() or match(self._text, at) is not None) and go(at)
        return self._character(item, scope)

    def _character(self, item: Any, scope: tuple[tuple[int, int], ...]) -> Node:
        match = self._compiled(item, scope).match
        self._single.append(lambda character: match(character) is not None)
        return lambda at, go: (self._step() or match(self._text, at) is not None) and go(at + 1)

    def _repeat(self, kind: Any, value: Any, scope: tuple[tuple[int, int], ...]) -> Node:
        least, most, items = value
        item = list(items)
        if len(item) == 1 and item[0][0] in (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN):
            return self._run(kind, least, most, item[0], scope)
        body = self._sequence(item, scope)

        def greedy(at: int, go: Go, rounds: int = 0, last: int = -1) -> bool:
            self._step()
            if rounds < most and (rounds < least or at != last):
                saved = dict(self._groups)
                if body(at, lambda end: greedy(end, go, rounds + 1, at)):
                    return True
                self._groups = saved
            return rounds >= least and go(at)

        def lazy(at: int, go: Go, rounds: int = 0) -> bool:
            self._step()
            if rounds >= least and go(at):
                return True
            return rounds < most and body(at, lambda end: (end != at or rounds < least) and lazy(end, go, rounds + 1))

        if kind is _constants.MIN_REPEAT:
            return lazy
        return greedy if kind is _constants.MAX_REPEAT else self._atomic(greedy)

    def _run(self, kind: Any, least: int, most: int, item: Any, scope: tuple[tuple[int, int], ...]) -> Node:
        """Of one character: how far it goes is found at once, and costs a step for each."""
        match = self._compiled(item, scope).match
        self._single.append(lambda character: match(character) is not None)
        run = self._compiled((_constants.MAX_REPEAT, (0, most, _parser.SubPattern(self._state, [item]))), scope).match

        def greedy(at: int, go: Go) -> bool:
            end = run(self._text, at).end()
            self._step(end - at + 1)
            for place in range(end, at + least - 1, -1):
                self._step()
                if go(place):
                    return True
            return False

        def lazy(at: int, go: Go) -> bool:
            place = at
            while place - at <= most:
                self._step()
                if place - at >= least and go(place):
                    return True
                if place == len(self._text) or match(self._text, place) is None:
                    return False
                place += 1
            return False

        def possessive(at: int, go: Go) -> bool:
            end = run(self._text, at).end()
            self._step(end - at + 1)
            return end - at >= least and go(end)

        return {_constants.MAX_REPEAT: greedy, _constants.MIN_REPEAT: lazy}.get(kind, possessive)

    def _group(self, group: int | None, body: Node) -> Node:
        if group is None:
            return body

        def walk(at: int, go: Go) -> bool:
            def close(end: int) -> bool:
                saved = self._groups.get(group)
                self._groups[group] = (at, end)
                if go(end):
                    return True
                self._groups.pop(group)
                if saved:
                    self._groups[group] = saved
                return False

            return body(at, close)

        return walk

    def _atomic(self, body: Node) -> Node:
        def walk(at: int, go: Go) -> bool:
            ends: list[int] = []
            return body(at, lambda end: not ends.append(end)) and go(ends[0])  # type: ignore[func-returns-value]

        return walk

    def _branch(self, ways: list[Node]) -> Node:
        def walk(at: int, go: Go) -> bool:
            for way in ways:
                self._step()
                if way(at, go):
                    return True
            return False

        return walk

    def _look(self, is_wanted: bool, value: Any, scope: tuple[tuple[int, int], ...]) -> Node:
        direction, items = value
        body = self._sequence(list(items), scope)
        width = items.getwidth()[0] if direction < 0 else 0

        def walk(at: int, go: Go) -> bool:
            self._step()
            held = at >= width and body(at - width, lambda _: True)
            return held is is_wanted and go(at)

        return walk

    def _reference(self, group: int) -> Node:
        def walk(at: int, go: Go) -> bool:
            begin, end = self._groups.get(group, (0, -1))
            self._step(max(1, end - begin))
            return end >= begin and self._text.startswith(self._text[begin:end], at) and go(at + end - begin)

        return walk

    def _conditional(self, group: int, then: Node, other: Node) -> Node:
        return lambda at, go: (then if group in self._groups else other)(at, go)
