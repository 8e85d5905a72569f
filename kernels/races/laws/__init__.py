"""Laws: what must hold of a run besides order, and what a program says of itself so that it can be checked.

Owns: marks (what a program says), the laws over one execution, failures put in on purpose. Does not own: order
(detector, naming), bytes (version tags). Floor 2b. Source: facts/bugs.md sections 1 and 2, classes 4 to 14.

Order cannot see everything: a pool that a load forgets, rows of two widths, two owners of one page, a key that lacks
its dtype, ranks that decide differently, a failed read that is announced as done. Each law looks at one trace, of a
program or of a file, and is silent where nothing was said that concerns it.
"""
