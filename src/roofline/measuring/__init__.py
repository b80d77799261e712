"""This machine's own ceilings.

    topology, limits ──► quiet (look) ──► probes ──► sampling ──► figures ──► store
       what is here       is it ours?     bandwidth   windows     best,       machine
                                          gemm        in turns    median      file
                                          overhead                spread

`session` runs the whole; `report` and `live` say it. Heavy libraries (llvmlite,
torch) are imported where they are used.
"""
