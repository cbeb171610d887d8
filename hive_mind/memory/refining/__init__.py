"""What a search may do beyond its first ranking, where a setting says so: a second look at the best."""
