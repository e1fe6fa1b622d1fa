"""A network along a person's similarity set."""
