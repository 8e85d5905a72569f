"""Many stored runs as one question: arms over the same seeds, and the comparisons that were named beforehand.

Owns: the record `matrix.json` and what is said about two runs or two matrices. Does not own: making the runs
(`harness.search`), drawing (`results.report`). Floor 3.
"""
