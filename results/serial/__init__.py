"""What the same turns said when they were asked again alone: the model, rounding, or the server under load?

Floor 3.
"""
