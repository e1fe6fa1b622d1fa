"""Exact certificates: segments, balls, counterexamples, attacks."""
