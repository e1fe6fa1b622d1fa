"""Recipes and runs: everything from a dataset to a result, stage by stage."""
