"""A reverse proxy between a client and its server, and the seam through which others watch or change what passes.

Floor 5.
"""
