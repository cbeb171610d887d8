"""What a node lets in and keeps: admission, seals, the registry and the rights in it, expiry."""
