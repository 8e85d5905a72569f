"""What sessions are asked to do, from a recalled call down to nothing that is known, and which of it a model masters.

Floor 5.
"""
