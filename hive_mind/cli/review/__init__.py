"""Commands on runs, rules, the inbox and the judge."""
