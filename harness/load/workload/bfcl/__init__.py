"""BFCL v4 as a workload: its function docs become the tools, its ground truth the runbook's calls.

Owns: reading the leaderboard's files and translating them. Does not own: sessions; they are planned as for the
built-in tools. Floor 5. Source: Berkeley Function-Calling Leaderboard v4 (package bfcl-eval, Apache-2.0).
"""
