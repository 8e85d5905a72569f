"""Pure array functions: index scores, selection, attention, number formats, page layouts. Floor 0.

Owns: arithmetic on arrays that it is handed. Does not own: any state, any clock, any notion of a request.
Functions take their array namespace from their arguments (see `namespace.py`), so they run on NumPy and on CuPy.
"""
