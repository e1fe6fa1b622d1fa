"""What a run should make: the tables of a recipe, its cells, the shipped recipes."""
