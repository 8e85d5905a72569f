"""The hierarchical KV cache: device pages, host pages, and what moves between them. Floor 2a.

Owns, one idea a file:
    geometry, sizing    which layers and pools a model has, and what they weigh
    audit/              what a capacity formula grants, and whether that fits a memory
    pools, ranks        buffers on a machine, one set per tier and tensor parallel rank
    allocator           page free lists in the order that SGLang reuses pages
    node, radix         the tree of cached pages; matching, inserting, locking
    eviction            who leaves a tier next
    gate, transfers     layer events, and the copies that complete them
    loads, backups      transfers in flight and their acknowledgement
    access, variant     the one way to read a layer, and the named switches that break it
    controller          the cache as the prefill engine uses it; spec, lease, statistics are its records
    invariants          what must hold after every step
Does not own: content of pages, time, costs, request scheduling. Imports `kernels.errors` and the substrate's
contract only. Source: SGLang HiCache (DESIGN.md section 4), in our own words.
"""
