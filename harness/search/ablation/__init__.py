"""The ablation: the same slip in each pool in turn, and how many first tokens it changes.

Owns: the experiment behind one claim of the incident report, namely that index-K is uniquely sensitive because it feeds
a discrete selection, while c4 latents, c128 and the window are averaged by attention and hide the same slip. Does not
own: the model, the caches or the workload that it is made with. Floor 5.

    cases       requests that are asked again, page by page, and what the device pages held before
    slips       the pages and layers that are read too early; early: the same by time, on the virtual machine
    outputs     what stale layers say, added to what the others say; looks: why
    measure     all of it, for every case and slip
    counts, tables, conclusion, figures, files      what is made of the observations

No outcome is drawn: seeds choose which pages are stale and whose bytes they hold, and the model reads those bytes.
"""
