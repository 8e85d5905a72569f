"""What substrates with real concurrency share: host threads on a wall clock, the ledger, the order of settling.

Owns: everything of a machine but the streams themselves, which `threaded` and `cuda` bring as a `Backend`. Floor 1.

Host programs run in one OS thread, one step at a time, as on `virtual`: the simulator's own state needs no locks, and
what races is the streams. A step runs when its timer is due, or when what it waits for has really happened.
"""
