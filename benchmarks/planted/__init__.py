"""Faults planted into a sound server's replies: what the judge finds, and what its intervals cover."""
