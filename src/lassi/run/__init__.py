"""A run's folder: what it holds, loaded but never made, and the makers of its stages."""
