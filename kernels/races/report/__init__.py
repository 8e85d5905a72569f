"""Reports of races: terminal text, JSON, and a trace for Perfetto or chrome://tracing."""
