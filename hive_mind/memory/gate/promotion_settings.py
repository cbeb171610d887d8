"""The gate's settings. Apart from it: configurations are read everywhere, and its patterns take long to compile."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromotionSettings:
    """Conditions on a fact to be shared."""

    confidence_min: float = 0.3
    """Raise it and less of doubtful worth is shared; others then confirm less, too."""
    words_min: int = 2
    """Shorter texts mean nothing without their context. Raise it and terse facts ("Pump 3: red") stay home."""
    letters_share_min: float = 0.5
    """Share of letters and digits in what is not white space. Raise it and formulas stay home, lower it and markup leaves."""
    hold_back_secrets: bool = True
    """Keys, tokens, passwords, connection strings."""
    hold_back_personal: bool = True
    """E-mail addresses, telephone, card, bank account and identity numbers; names are fine."""
    hold_back_instructions: bool = True
    """Text made to be obeyed, or in another's name, by the rules of `memory.gate.instructions`."""
    allowed_instructions: tuple[str, ...] = ()
    """Names of rules that don't count here."""
    is_open: bool = False
    """Everything passes, secrets too: for measuring topologies against one another, not for use."""
