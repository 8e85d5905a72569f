"""The substrate: streams, events and buffers over one clock (floor 1).

Owns: nothing but the package name. `contract` is the seam; `virtual` is the discrete-event implementation; `cost`,
`delays`, `choices` and `trace` are what every implementation shares. Does not own: what the bytes mean.
"""
