"""How assertions reach their holders and stay there: replicas, outbox, anti-entropy, reliable channels."""
