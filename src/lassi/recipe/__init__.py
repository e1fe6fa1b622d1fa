"""What is asked for: the tables of a recipe, its cells, the shipped recipes."""
