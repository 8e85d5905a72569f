"""Two stored runs, arms or matrices against each other.

Owns: what may be compared, the right unit for it, and what comes out. Does not own: intervals and tests
(`results.stats`), reading (`results.reader`, `results.matrix`). Floor 3.
"""
