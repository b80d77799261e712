"""A machine file to fill in."""

TEMPLATE = """\
# A machine for roofline. Fill in what you know, delete what you do not: unknown stays unknown.
# Use it with:  roofline explain llama-3.1-8b --on ./my-machine.toml
schema = "roofline.machine/1"

id = "my-machine"
name = "My machine"
vendor = ""
kind = "gpu"                      # gpu, accelerator, soc or cpu
generation = ""                   # what 'roofline predict' takes it to be like: "hopper"
released = ""                     # "2025-01"

[memory]
capacity = 85_899_345_920         # bytes: 80 GiB
# usable = 85_520_000_000         # bytes that programs can really have
type = "HBM3"
unified = false                   # true where the host's programs share it

# [cache]                         # the last level
# level = "L2"
# capacity = 52_428_800           # bytes

# The sheet's ceilings, in bytes/s and FLOP/s. Compute peaks are DENSE: a sheet that says
# "with sparsity" is twice too high. Tensor cores that sum in fp16 only are no bf16 ceiling.
[datasheet.bandwidth]
memory = 3.35e12

[datasheet.compute]
bf16 = 989e12
# fp8 = 1979e12
# fp32 = 67e12
# A figure may say more about itself:
# int8 = { value = 1979e12, accumulate = "int32", source = "sheet", note = "" }

# What you measured, where you did; 'roofline measure' writes a whole file.
# [measured.bandwidth]
# memory = 3.0e12
# [measured.compute]
# bf16 = 790e12

# [[links]]
# name = "NVLink 4"
# bandwidth = 450e9               # bytes/s of one device in one direction
# latency = 2e-6                  # seconds a message, if you know it
# devices = 8
# scope = "node"                  # node, rack or cluster; host for a link to the CPU only
# topology = "mesh"               # where every pair of devices has wires of its own

# [sources.sheet]
# title = "the vendor's datasheet"
# url = "https://example.com/sheet.pdf"
# date = "2025-01-31"
"""
