"""Many runs for one question: sweeps over an axis, arms over seeds, sensitivity to each parameter.

Owns: lists of jobs, the processes that work them off, the log that makes an interrupted campaign resumable, and the
statistics over seeds. Does not own: one run (`simulation`), what a judged run is (`results`), the command line.
Floor 5.
"""
