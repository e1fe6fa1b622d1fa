"""The auditor: statistics, the four certificates, attacks, certificates as data."""
