"""The gate: facts an agent shares and facts that stay home. Here are its settings, which are read where no pattern is needed."""

from dataclasses import dataclass
from typing import Annotated, Literal

from hive_mind.model.bounds import SHARE, Setting

RuleName = Literal[
    "ignore-instructions",
    "role-marker",
    "new-role",
    "how-to-answer",
    "keep-from-people",
    "give-out",
    "use-tool",
    "to-models",
    "speaks-for-another",
]


@dataclass(frozen=True)
class PromotionSettings:
    """Conditions on a fact to be shared."""

    confidence_min: Annotated[float, SHARE] = 0.3
    """Facts less sure than this stay with their agent. Raise it and less of doubtful worth is shared; others confirm less."""
    words_min: Annotated[int, Setting(ge=0, le=100)] = 2
    """Facts of fewer words stay: they mean nothing without their context."""
    letters_share_min: Annotated[float, SHARE] = 0.5
    """Facts with a smaller share of letters and digits stay: tables, numbers, noise."""
    hold_back_secrets: Annotated[bool, Setting()] = True
    """Facts that hold a credential stay: keys, tokens, passwords, connection strings."""
    hold_back_personal: Annotated[bool, Setting()] = True
    """Facts with e-mail addresses, telephone, card, account or identity numbers stay; names are fine."""
    hold_back_instructions: Annotated[bool, Setting()] = True
    """Facts made to be obeyed, or in another's name, stay."""
    allowed_instructions: Annotated[tuple[RuleName, ...], Setting("allow_instructions")] = ()
    """Rules of these that don't count here; the reason at a fact names its rule."""
    is_open: Annotated[bool, Setting("open")] = False
    """Share everything, secrets too: for measuring, not for use."""
