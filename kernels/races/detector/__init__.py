"""Happens-before detection over traces. Front doors: `detector.Detector` (a trace sink) and `stored.judge_file`."""
