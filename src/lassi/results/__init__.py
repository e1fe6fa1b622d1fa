"""What came out of a run: typed records, counting, summaries."""
