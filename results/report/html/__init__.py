"""The report as one HTML file: no script, no network, every figure an inline SVG (floor 3).

Owns: nothing but the package name.
"""
