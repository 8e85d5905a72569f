"""Exit codes of this tool's commands, as a night reads them.

Owns: the names. Floor 5. Source: CONTRIBUTING.md.
"""

CLEAN = 0
FOUND = 1
COULD_NOT_JUDGE = 4
INTERRUPTED = 130
