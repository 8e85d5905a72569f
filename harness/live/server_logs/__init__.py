"""Logs of a live server, read for lines that matter."""
