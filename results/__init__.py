"""What a run leaves behind and how it is judged: records, store, oracles, statistics, summary, report (floor 3).

Owns: nothing but the package name. Does not import the machine or the harness: `results` judges *stored* runs, so
a run made on a GPU box or against production can be judged again on a laptop.
"""
