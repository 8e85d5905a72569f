"""Workloads that come from files: traces, conversations, captured requests. One file a format.

Owns: nothing itself; `formats.py` knows the formats, `rounds.py` makes sessions of them. Floor 5.
"""
