"""One corrupted turn and the load around it, as one script that anybody can run against a server of theirs.

Floor 5.
"""
