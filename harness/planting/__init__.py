"""Known damage put into the replies of a sound server, to see whether a judge finds it.

Floor 5.
"""
