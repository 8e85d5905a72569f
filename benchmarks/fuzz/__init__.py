"""Fuzzing of everything that reads a server's bytes: properties that any input must keep, driven by coverage."""
