"""What every other folder stands on: errors, random streams, artefacts, progress, the engine."""
