"""A machine's name as systems, tools and shops print it, with what is no part of it taken off.

``Intel(R) Xeon(R) Platinum 8480+``, ``AMD Ryzen 9 7950X 16-Core Processor``, ``AMD Radeon RX 7900
XTX (RADV NAVI31)``, ``GPU 0: NVIDIA GeForce RTX 3080 Laptop GPU (UUID: …)``, ``GA102 [GeForce RTX
3090] (rev a1)``. Words that tell parts apart (Laptop, Max-Q, PCIe, SXM, 40-core, 24GB, Ti) are
never taken off: a name that has one finds the part that has it, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# What tells one part from its sibling, so that it is kept where it stands in parentheses.
_TELLING = re.compile(
    r"\b(?:laptops?|mobile|notebook|max-?q|pcie|sxm\d?|nvl|sff|gcd|die|super|ti|mrdimm|d|max|"
    r"server|workstation|\d+\s*gi?b|\d+[- ]?(?:gpu[- ])?cores?|\d+c|sockets?|m[1-9]|x\d+|\d+x)\b",
    re.IGNORECASE,
)

# What is only another way to write the same.
_REWRITTEN = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"\((?:R|TM|C)\)|[®™©]", " "),
        (r"\A\s*ggml_\w+:\s*\d+\s*=\s*", ""),
        (r"\s*\|.*\Z", ""),
        (r"\A\s*[a-z][^:()\[\]]{0,30}:\s+(?=\S)", ""),  # GPU 0: …, model name : …
        (r"/PCIe/SSE2\s*\Z", ""),
        (r"\s*,?\s*compute capability.*\Z", ""),
        (r"\A.*\[([^\][]*[a-z]{2}[^\][]*\d[^\][]*)\][^\][]*\Z", r"\1"),  # lspci
        (r"\(([^()]*)\)", lambda m: f" {m[1]} " if _TELLING.search(m[1]) else " "),
        (r"\b\d+[- ]?core CPU\b,?", " "),
        (r"\b(\d+)[- ]?(?:GPU[- ]cores?|core GPU)\b", r"\1c"),
        (r"\b(m\d(?: \w+)?),? (\d+)[- ]cores?\b", r"\1 \2c"),
        (r"\bPCI-?e\s*(?:gen\s*)?(?:\d(?:\.0)?)?\s*x\d+\b", "PCIe"),
        (r"\bMobile / Max-Q\b", "Mobile"),
        (r"\b(?:notebook|for laptops)\b", "Laptop"),
        (r"(?<=[\s(,])(\d+)\s*(?:GB|GiB|G)\b", r"\1GB"),
    )
)

# What may or may not be a part of it, so that both are looked up.
_TAKEN_OFF = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"\s*@\s*[\d.]+\s*[GM]Hz\b", ""),
        (r"\s+(?:w/|with)\s*Radeon\b.*\Z", ""),
        (r"\A\d+th\s+Gen\s+", ""),
        (r"((?:Ryzen|EPYC|Threadripper|Xeon|Core)\b.*?)\s+\d+-Cores?(?:\s+Processor)?\s*\Z", r"\1"),
        (r"\s+Model \w(?: Rev [\d.]+)?\s*\Z", ""),
        (
            r"\s+(?:Processor|CPU|APU|GPU|NPU|Graphics|Series|OAM|Developer Kit|Module|"
            r"Accelerator|instance|node|server|system|card|chip)s?\b",
            " ",
        ),
        (r"\A(?:MacBook (?:Pro|Air)|Mac (?:Studio|mini|Pro)|iMac)\b[\s,(]+", ""),
        (r"\A\d\d(?:-inch|\"),?\s+(?=M\d|Apple)|,?\s+20[12]\d\b", ""),
        (r"\Aml\.", ""),
        (
            r"\A(?:NVIDIA(?: Corporation)?|AMD|ATI|Intel|Apple|Google(?: Cloud)?|Huawei|AWS|"
            r"Amazon(?: EC2)?|Azure|GCP|OCI)\s+",
            "",
        ),
        (r"\A(?:Tesla|GeForce|Radeon|Instinct|Xeon|Core|DCU)\s+", ""),
    )
)

_NUMBERS = {"single": 1, "one": 1, "dual": 2, "two": 2, "quad": 4, "four": 4, "eight": 8}
_BEFORE = re.compile(
    rf"\A\s*(?:(\d{{1,4}})\s*[x×*]\s*(?=\S)|(\d{{1,4}})\s+(?=[a-z])|({'|'.join(_NUMBERS)})[\s-]+)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[\s,(]*(?:(?:(?<![a-z])[x×*]\s*|x)(\d{1,3})|\b(\d{1,3})[\s-]?(?:GPU|card|chip|device)s?)\s*\)?\s*\Z",
    re.IGNORECASE,
)
_LANES = re.compile(r"(?:pcie|gen\s*\d|\d\.0)\s*\Z", re.IGNORECASE)

# What a name says of a part, beside what it is called: to be held against the part.
_DETAILS = tuple(
    (what, re.compile(pattern, re.IGNORECASE))
    for what, pattern in (
        ("capacity", r"[\s,/-]*\b(\d{1,4})\s*(?:GB|GiB|G)\b(?:\s+(?:RAM|VRAM|memory|unified))*"),
        ("memory", r"[\s,/-]*\b((?:HBM|GDDR|LPDDR)\d\w?)\b"),
        ("bus", r"[\s,/-]*\b(PCIe)(?:\s*(?:Gen\s*)?\d(?:\.0)?)?(?:\s*x\d+)?(?!\w)"),
    )
)


def spellings(name: str) -> Iterator[str]:
    """A printed name, then with ever more taken off that is no part of it.

    >>> min(spellings("AMD Ryzen 9 7950X 16-Core Processor"), key=len)
    'Ryzen 9 7950X'
    >>> list(spellings("RTX 4090 (Laptop)"))
    ['RTX 4090 (Laptop)', 'RTX 4090 Laptop']
    """
    given = " ".join(name.split())
    text = given
    for pattern, instead in _REWRITTEN:
        text = " ".join(pattern.sub(instead, text).split()).strip(" ,")
    seen = {text: None} if text else {}
    for pattern, instead in _TAKEN_OFF:
        for longer in tuple(seen):
            shorter = " ".join(pattern.sub(instead, longer).split()).strip(" ,")
            if shorter:
                seen.setdefault(shorter)
    yield from dict.fromkeys((given, *seen)) if given else ()


def counted(name: str) -> Iterator[tuple[int, str]]:
    """How many a name may mean, and of what: ``8x H100 SXM``, ``H100 x8``, ``dual RTX 3090``.

    >>> list(counted("2x RTX 3090"))
    [(1, '2x RTX 3090'), (2, 'RTX 3090')]
    """
    yield 1, name
    if result := _BEFORE.match(name):
        word = result[3]
        count = _NUMBERS[word.lower()] if word else int(result[1] or result[2])
        if count:
            yield count, name[result.end() :]
    result = _AFTER.search(name)
    if result and not _LANES.search(name[: result.start()]) and (result[1] or result[2]).strip("0"):
        yield int(result[1] or result[2]), name[: result.start()]


def detailed(name: str) -> tuple[str, dict[str, str]]:
    """A name without what it says of the part, and that: ``capacity`` in GB, type of ``memory``,
    ``bus``.

    >>> detailed("RTX 4090 24GB GDDR6X")
    ('RTX 4090', {'capacity': '24', 'memory': 'GDDR6X'})
    """
    said = {}
    for what, pattern in _DETAILS:
        if result := pattern.search(name):
            said[what] = result[1]
            name = f"{name[: result.start()]} {name[result.end() :]}".replace("()", " ")
    return " ".join(name.split()), said
