"""Strategies: who runs next. One policy a file; the mechanism (`scheduler/`) knows none of them."""
