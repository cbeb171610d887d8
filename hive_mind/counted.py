"""How many of what, as a person would say it."""


def counted(number: int, one: str, several: str = "") -> str:
    """ "1 fact", "2,000 facts"; `several` where an s does not do."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
