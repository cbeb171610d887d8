"""What people who look ask of an agent: what stands behind a fact, why one is missing, what waits for them or lies on the bus."""
