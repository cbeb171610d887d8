"""Why something of a member was forgotten that says more than any honest one does. Status shows it."""

TOO_MANY_ENTRIES = "a registry entry of a writer with too many"
TOO_MANY_REMOVALS = "a removal by somebody who takes back too much"
TOO_MANY_BOOTS = "a boot of a node with too many"
AFTER_DISMISSAL = "a registry entry of a moderator who had been dismissed"

LIMITS = frozenset({TOO_MANY_ENTRIES, TOO_MANY_REMOVALS, TOO_MANY_BOOTS, AFTER_DISMISSAL})
