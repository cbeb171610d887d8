"""Evidence in a score: how much confirmations and trust may move a fact.

By default they only lift, by a tenth at the most: a fact others confirm wins over its equal, and never drowns a better match.
004's weighted sum is kept by name: there one confirmation (0.3 / 5) weighs as much as 0.12 of cosine (0.5 each), and hits are
often closer together than that.
"""

CONFIRMATIONS_FULL = 5
"""So many further sources count as complete confirmation."""
TRUST_MAX = 2.0
"""Upper end of an agent's trust."""

SEMANTIC_WEIGHT = 0.5
CONFIRMATION_WEIGHT = 0.3
TRUST_WEIGHT = 0.2


def confirmation_share(confirmations: float) -> float:
    """Confirmations as a figure in [0, 1]."""
    return min(max(confirmations, 0), CONFIRMATIONS_FULL) / CONFIRMATIONS_FULL


def trust_share(trust: float) -> float:
    """Trust in [0, 2] as a figure in [0, 1]."""
    return min(max(trust, 0.0), TRUST_MAX) / TRUST_MAX


def hybrid_score_weighted(
    semantic_similarity: float,
    confirmation_count: int,
    source_trust: float,
    *,
    semantic_weight: float = SEMANTIC_WEIGHT,
    confirmation_weight: float = CONFIRMATION_WEIGHT,
    trust_weight: float = TRUST_WEIGHT,
) -> float:
    """The formula of document 004: 0.5 · similarity + 0.3 · confirmations (five are full) + 0.2 · trust (2.0 is full)."""
    return (
        semantic_weight * semantic_similarity
        + confirmation_weight * confirmation_share(confirmation_count)
        + trust_weight * trust_share(source_trust)
    )
