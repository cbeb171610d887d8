"""Who is who in a fleet: keys, certificates that its root signs, and signatures under what members say."""
