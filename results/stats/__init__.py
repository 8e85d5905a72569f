"""Statistics of corruption: intervals, tests over seeds, clusters. Pure functions over counts and rates (floor 3).

Owns: nothing but the package name, so that a caller pays only for what it imports. Every function says what it
assumes, and the tests check it by simulation against closed forms.
"""
