"""Checking again what a run left on disk, and the program itself."""
