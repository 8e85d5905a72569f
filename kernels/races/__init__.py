"""Races: detect unordered accesses, name the missing order, show it by a chosen schedule, prove a fix.

Owns: judging order. Does not own: running a machine in time (substrate), scenarios, the command line. Floor 2b: imports
the substrate, arrays and errors only.
"""
