"""The paper's tables with our figures, for people to read."""
