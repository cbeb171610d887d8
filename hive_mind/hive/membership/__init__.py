"""Who is a member, who lives, what time it is, and which topology comes next."""
