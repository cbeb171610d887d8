"""Regular expressions that are compiled when they are first used.

There are some 300; to compile them all takes a sixth of a second of each process that begins, and few processes use many.
"""

import re
from typing import Any, cast

_PARTS = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))


class _Compiled:
    """Has what a `re.Pattern` has, as attributes of its own."""


class _Uncompiled:
    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._source)
        for part in _PARTS:
            setattr(self, part, getattr(compiled, part))
        # Without `__getattr__` the next look-up is quicker.
        self.__class__ = _Compiled  # type: ignore[assignment]
        return getattr(self, name)


def regex(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """As `re.compile`, for what has a name in a module. The functions of `re` do not take it, its methods do what they do."""
    return cast("re.Pattern[str]", _Uncompiled(pattern, flags))
