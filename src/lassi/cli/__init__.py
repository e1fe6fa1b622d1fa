"""The command line: one module a command group, and no logic."""
