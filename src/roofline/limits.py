"""How much is read, built and answered: every limit on what others hand over, in one table.

Each is far above what is honest and far below what would fill the memory or the day; what is
beyond it is refused with a sentence that names it. ``docs/*/limits.md`` has the same table.
"""

POSTED_BYTES = 4 << 20
"""Bytes: a config or question posted to a served page."""

SERVED_AT_A_TIME = 64
"""Connections that a served page answers at a time."""

REQUEST_SECONDS = 30.0
"""Seconds: a request to a served page, to arrive and be answered."""

CONFIG_BYTES = 32 << 20
"""Bytes: a `config.json` or another JSON file of a checkpoint."""

FETCHED_BYTES = 32 << 20
"""Bytes: a file fetched from the hub."""

TRACED_LAYERS = 512
"""Layers of a class that `--trace` builds."""

TRACED_EXPERTS = 1 << 12
"""Experts of a layer of it."""

TRACED_MODULES = 1 << 16
"""Layers times experts of it."""

TRACED_ENTRIES = 10_000
"""Entries of a list or table in its config."""

NAME_CHARACTERS = 4096
"""Characters of a module's name in a quantisation config."""

EXPRESSIONS = 4096
"""Regular expressions of a quantisation config."""

EXPRESSION_CHARACTERS = 1 << 18
"""Characters of them together."""

EXPRESSION_WAYS = 10**8
"""Ways in which one could try to match a name."""

EXPRESSION_SECONDS = 4.0
"""Seconds: of this thread's time for all names held against them."""

GGUF_PARTS = 10_000
"""Files of a split GGUF."""

GGUF_KEYS = 1 << 16
"""Keys of a GGUF file."""

GGUF_TENSORS = 1 << 17
"""Tensors of a GGUF file."""

GGUF_STRINGS = 4_000_000
"""Strings in its arrays, walked over in all (the largest vocabularies with their merges have 0.8
million)."""

GGUF_TEXT_BYTES = 1 << 12
"""Bytes: a text of it that is kept; longer ones (chat templates) are skipped."""

SAFETENSORS_HEADER_BYTES = 32 << 20
"""Bytes: the header of a safetensors file."""

SAFETENSORS_TENSORS = 1 << 20
"""Tensors of a folder."""

SAFETENSORS_FILES = 4096
"""Files of it."""

MACHINE_BYTES = 8 << 20
"""Bytes: a machine file."""

PROFILE_BYTES = 4 << 20
"""Bytes: a profile of an engine."""

LENGTHS = 1_000_000
"""Requests of a `--lengths` file."""

SIMULATED_STEPS = 150_000
"""Steps of a simulated workload: more would take over ten seconds."""

DEVICES = 1 << 20
"""Devices of a layout."""

SWEPT_STEPS = 10_000_000_000
"""Steps of a sweep, written as they are computed."""

SWEPT_CONTEXTS = 100_000
"""Contexts of a sweep."""

TABLE_LINES = 20_000
"""Lines of a table to read."""

BENCH_VALUES = 64
"""Values of a list in one run of `bench`."""

RECORD_CHARACTERS = 64 * 2**20
"""Characters of one JSON object of a result file."""

LINE_CHARACTERS = 2**20
"""Characters of one line of a log; a longer one is cut."""

YAML_LEVELS = 64
"""Levels of a YAML file."""

POINT_PARTS = 512
"""Kinds of steps in one result."""

POINT_GROUPS = 65_536
"""Groups of sequences in one result."""

POINT_BYTES = 64 * 2**20
"""Bytes: one point of a points file."""

KEPT_CHARACTERS = 200
"""Characters of a text that is kept of another tool's file."""

KEPT_ITEMS = 256
"""Items of a list or table that is kept of it."""

KEPT_LEVELS = 8
"""Levels of it."""

REPLY_BYTES = 4 << 20
"""Bytes: a server's list of models, or of metrics."""

EVENT_BYTES = 1 << 20
"""Bytes: one event of a server's stream."""
