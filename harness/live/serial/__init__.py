"""The same turns once more, alone: after the load, on a quiet server, with the controls that a verdict needs.

Floor 5.
"""
