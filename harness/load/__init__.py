"""Load: what the sessions send and when. Floor 5."""
