"""A recipe from beginning to end."""
