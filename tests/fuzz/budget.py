"""How many examples the fuzz tests try: a sample that is always the same, or with LASSI_FUZZ=whole many new ones."""

import os

from hypothesis import HealthCheck, settings

WHOLE = os.environ.get("LASSI_FUZZ") == "whole"

# Every example brings its own files, so the one temporary folder of a test is enough; some examples are slow to make.
COMMON = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("fuzz-sampled", derandomize=True, **COMMON)
settings.register_profile("fuzz-whole", derandomize=False, print_blob=True, **COMMON)


def examples(sampled: int, whole: int) -> settings:
    """The settings of a property: how many examples it tries in either mode."""
    profile = settings.get_profile("fuzz-whole" if WHOLE else "fuzz-sampled")
    return settings(profile, max_examples=whole if WHOLE else sampled)
