"""Commands about fleets: what a manifest says, applying it, and looking at what runs; `fleets` says which one is meant."""
