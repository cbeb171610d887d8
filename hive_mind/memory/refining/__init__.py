"""What a search may do before and after its first ranking, where a setting says so."""
