"""The page that people read, drawn only from a document of figures."""
