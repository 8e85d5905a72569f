"""What people look at: the screen of a run, the report in all its formats, tables, figures (floor 3).

Owns: nothing but the package name. Everything below is a pure function of summaries and records.
"""
