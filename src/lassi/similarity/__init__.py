"""The regulator: who is similar to whom, along which directions, how far."""
