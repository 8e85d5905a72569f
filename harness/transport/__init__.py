"""Clients of any OpenAI-compatible endpoint, and the decoding of what it streams. Floor 5."""
