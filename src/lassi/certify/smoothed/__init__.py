"""Smoothed certificates: statistics, noise, centres, classes."""
