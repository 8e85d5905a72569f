"""Mutants of the cache's own code: what is broken, on which programs, and what the detector says of it. Floor 5."""
