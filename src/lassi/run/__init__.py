"""A run's folder: what is there, loaded and never made; and the makers of its stages."""
