"""Races of scenarios and of users' programs: what is explored, and the tokens that name it.

Owns: small programs made from scenarios, loading programs from files, tokens on disk, one observed run. Does not own:
detection, naming, search, reports (`kernels.races`), the command line. Floor 5.
"""
