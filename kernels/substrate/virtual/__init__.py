"""The `virtual` substrate: one discrete-event machine, integer nanoseconds, deterministic for a seed (floor 1).

Owns: nothing but the package name. `machine` is the front door, `timeline` the clock; `host` runs host programs;
`stream`, `work` and `copying` run what they issue; `link` shares bandwidth; `memory`, `landing` and `reading` know what
version is where, when, and what a reader saw of it.

What the model leaves out, and which way that errs:
- A host thread's work between two yields is one step of host issue order. Threads that race inside such a step are seen
  in the order in which they were resumed only: misses races between host threads, invents none.
- A copy's pages land in walking order at an even pace (a gather kernel's blocks really run side by side): fewer torn
  pages than on hardware, and all at one front.
- A page is read in one instant, and a half-landed source page is copied as its old version: misses mixtures of three.
- Kernels of different streams do not slow each other, and device memory bandwidth is not shared: windows are those of
  an otherwise idle device.
- No caches, no peer traffic but the hand-off link, no page faults, no allocator.
"""
