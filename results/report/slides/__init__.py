"""Figures worth a slide, for notebooks: matplotlib, colour-blind-safe, units on the axes, intervals drawn (floor 3).

Owns: nothing but the package name. Every figure is a pure function of a report or of a frame; none shows anything by
itself, and none keeps state.
"""
