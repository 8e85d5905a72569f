"""Real traffic as a workload: a recording proxy, what it keeps, and what it must never keep.

Floor 5.
"""
