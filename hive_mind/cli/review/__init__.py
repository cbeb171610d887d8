"""Commands on rules, the inbox and the judge."""
