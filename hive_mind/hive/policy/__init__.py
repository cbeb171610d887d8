"""A node's decisions on input and storage: admission, seals, the registry and the rights in it, expiry."""
