"""The page that a person reads: from a document of figures alone."""
