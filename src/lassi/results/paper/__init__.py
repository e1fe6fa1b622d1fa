"""The paper's own figures: every number of its tables, and which of our cells each belongs to."""
