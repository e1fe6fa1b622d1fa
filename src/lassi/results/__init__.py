"""The results of a run: typed records, counting, summaries."""
