"""The bandwidth and arithmetic kernels, as LLVM intermediate representation.

Written at this level because the loop is then exactly what is written: so many
streams, so many independent accumulators, vector loads of the machine's full
width, stores with or without the non-temporal hint. No optimiser runs over it
(only instruction selection), so nothing can be hoisted, merged or skipped, and
every loaded value reaches the returned sum, which the caller compares with the
right one.

Every kernel has one of two signatures (bytes, 64-bit integers)::

    sum  (base, stride, blocks, repeats) -> integer sum of all 64-bit words read
    move (to, from, from2, blocks, repeats, scalar as double)

A block is ``lines`` cache lines of 64 bytes in each of the ``streams``; stream
s starts at ``base + s × stride``.
"""

LINE = 64


def module(width: int, functions: list[str]) -> str:
    """One module of ``functions`` for vectors of up to ``width`` bytes."""
    text = "\n".join(functions)
    intrinsics = []
    for size in (16, 32, 64):
        n = size // 8
        sums = f"@llvm.vector.reduce.add.v{n}i64"
        intrinsics.append((sums, f"declare i64 {sums}(<{n} x i64>)"))
        for lanes, bits, kind in ((n, 64, "double"), (2 * n, 32, "float")):
            name, vector = f"@llvm.fmuladd.v{lanes}f{bits}", f"<{lanes} x {kind}>"
            intrinsics.append((name, f"declare {vector} {name}({vector}, {vector}, {vector})"))
    return "\n".join(
        [
            text,
            *(line for name, line in intrinsics if f"{name}(" in text),
            "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
            # Wide registers even where LLVM would rather not use them.
            f'attributes #0 = {{ nounwind "prefer-vector-width"="{width * 8}" '
            f'"min-legal-vector-width"="{width * 8}" }}',
            "!0 = !{i32 1}",
        ]
    )


def read(name: str, width: int, streams: int, lines: int, prefetch: int = 0) -> str:
    """Read-only: what decode does with weights and cache. Sums every 64-bit word."""
    lanes, loads = width // 8, LINE // width * lines
    vector = f"<{lanes} x i64>"
    per_stream = max(1, min(loads, 16 // streams if streams > 1 else loads, 8))
    sums = [f"s{s}.{a}" for s in range(streams) for a in range(per_stream)]
    body: list[str] = []
    current = {a: f"%{a}.in" for a in sums}
    for s in range(streams):
        body += [
            f"  %shift{s} = mul i64 %stride, {s}",
            f"  %where{s} = add i64 %offset, %shift{s}",
            f"  %at{s} = getelementptr i8, ptr %base, i64 %where{s}",
        ]
    for u in range(loads):
        for s in range(streams):
            k, acc = f"{u}.{s}", f"s{s}.{u % per_stream}"
            body.append(f"  %p{k} = getelementptr i8, ptr %at{s}, i64 {u * width}")
            if prefetch and u * width % LINE == 0:
                body += [
                    f"  %ahead{k} = getelementptr i8, ptr %p{k}, i64 {prefetch}",
                    f"  call void @llvm.prefetch.p0(ptr %ahead{k}, i32 0, i32 3, i32 1)",
                ]
            body.append(f"  %v{k} = load {vector}, ptr %p{k}, align {width}")
            result = f"%{acc}.out" if u + per_stream >= loads else f"%{acc}.{u}"
            body.append(f"  {result} = add {vector} {current[acc]}, %v{k}")
            current[acc] = result
    total, fold = f"%{sums[0]}.out", []
    for i, acc in enumerate(sums[1:]):
        fold.append(f"  %fold{i} = add {vector} {total}, %{acc}.out")
        total = f"%fold{i}"
    return "\n".join(
        [
            f"define i64 @{name}(ptr %base, i64 %stride, i64 %blocks, i64 %repeats) #0 {{",
            "entry:",
            "  br label %again",
            "again:",
            "  %r = phi i64 [ 0, %entry ], [ %r.next, %again.end ]",
            *(
                f"  %{a}.keep = phi {vector} [ zeroinitializer, %entry ], [ %{a}.out, %again.end ]"
                for a in sums
            ),
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %again ], [ %i.next, %loop ]",
            *(f"  %{a}.in = phi {vector} [ %{a}.keep, %again ], [ %{a}.out, %loop ]" for a in sums),
            f"  %offset = mul i64 %i, {lines * LINE}",
            *body,
            *_close_loops("repeats"),
            *fold,
            f"  %sum = call i64 @llvm.vector.reduce.add.v{lanes}i64({vector} {total})",
            "  ret i64 %sum",
            "}",
        ]
    )


def move(name: str, width: int, kind: str, lines: int, stream: bool) -> str:
    """``kind`` "copy": to = from; "triad": to = from + scalar × from2 (fp64).

    ``stream`` asks for non-temporal stores: the line is not read before it is
    written, which is what makes STREAM's byte count true.
    """
    lanes, steps = width // 8, LINE // width * lines
    vector = f"<{lanes} x double>"
    hint = ", !nontemporal !0" if stream else ""
    body: list[str] = []
    for u in range(steps):
        body += [
            f"  %o{u} = add i64 %offset, {u * width}",
            f"  %b{u} = getelementptr i8, ptr %from, i64 %o{u}",
            f"  %x{u} = load {vector}, ptr %b{u}, align {width}",
        ]
        if kind == "triad":
            body += [
                f"  %c{u} = getelementptr i8, ptr %from2, i64 %o{u}",
                f"  %y{u} = load {vector}, ptr %c{u}, align {width}",
                f"  %z{u} = call {vector} @llvm.fmuladd.v{lanes}f64"
                f"({vector} %scale, {vector} %y{u}, {vector} %x{u})",
            ]
    for u in range(steps):
        value = f"%z{u}" if kind == "triad" else f"%x{u}"
        body += [
            f"  %a{u} = getelementptr i8, ptr %to, i64 %o{u}",
            f"  store {vector} {value}, ptr %a{u}, align {width}{hint}",
        ]
    return "\n".join(
        [
            f"define void @{name}(ptr %to, ptr %from, ptr %from2, i64 %blocks, i64 %repeats, "
            "double %scalar) #0 {",
            "entry:",
            f"  %one = insertelement {vector} poison, double %scalar, i64 0",
            f"  %scale = shufflevector {vector} %one, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer",
            "  br label %again",
            "again:",
            "  %r = phi i64 [ 0, %entry ], [ %r.next, %again.end ]",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %again ], [ %i.next, %loop ]",
            f"  %offset = mul i64 %i, {lines * LINE}",
            *body,
            *_close_loops("repeats"),
            "  fence seq_cst",
            "  ret void",
            "}",
        ]
    )


def multiply_add(name: str, width: int, bits: int, chains: int) -> str:
    """``chains`` independent vectors x ← a·x + b: what the multiply-add units could do at most.

    ``(blocks, a, b) -> sum of all lanes``. Each block is two operations on each
    chain. x converges to b ÷ (1 − a), which the caller checks.
    """
    lanes, kind = width * 8 // bits, "float" if bits == 32 else "double"
    vector = f"<{lanes} x {kind}>"
    call = f"call {vector} @llvm.fmuladd.v{lanes}f{bits}"
    names = [f"x{c}" for c in range(chains)]

    def splat(target: str, source: str) -> list[str]:
        return [
            f"  %{target}.one = insertelement {vector} poison, {kind} %{source}, i64 0",
            f"  %{target} = shufflevector {vector} %{target}.one, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer",
        ]

    total, fold = f"%{names[0]}.out", []
    for i, x in enumerate(names[1:]):
        fold.append(f"  %fold{i} = fadd {vector} {total}, %{x}.out")
        total = f"%fold{i}"
    lane_sum = []
    for lane in range(lanes):
        lane_sum.append(f"  %lane{lane} = extractelement {vector} {total}, i64 {lane}")
        if lane:
            before = "%lane0" if lane == 1 else f"%upto{lane - 1}"
            lane_sum.append(f"  %upto{lane} = fadd {kind} {before}, %lane{lane}")
    return "\n".join(
        [
            f"define {kind} @{name}(i64 %blocks, {kind} %a, {kind} %b) #0 {{",
            "entry:",
            *splat("factor", "a"),
            *splat("term", "b"),
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]",
            *(
                f"  %{x}.in = phi {vector} [ zeroinitializer, %entry ], [ %{x}.out, %loop ]"
                for x in names
            ),
            *(
                f"  %{x}.mid = {call}({vector} %factor, {vector} %{x}.in, {vector} %term)"
                for x in names
            ),
            *(
                f"  %{x}.out = {call}({vector} %factor, {vector} %{x}.mid, {vector} %term)"
                for x in names
            ),
            "  %i.next = add i64 %i, 1",
            "  %more = icmp ult i64 %i.next, %blocks",
            "  br i1 %more, label %loop, label %end",
            "end:",
            *fold,
            *lane_sum,
            f"  ret {kind} %upto{lanes - 1}",
            "}",
        ]
    )


def beat(name: str) -> str:
    """A chain of 16 dependent multiply-then-add pairs a block: its speed is the core's clock.

    ``(blocks, start) -> number``. How many cycles a pair takes differs by
    processor, so only clocks of two moments on one core can be compared.
    """
    links = 16
    return "\n".join(
        [
            f"define i64 @{name}(i64 %blocks, i64 %start) #0 {{",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]",
            f"  %x0 = phi i64 [ %start, %entry ], [ %x{links}, %loop ]",
            *(
                line
                for k in range(links)
                for line in (
                    f"  %m{k} = mul i64 %x{k}, %start",
                    f"  %x{k + 1} = add i64 %m{k}, %i",
                )
            ),
            "  %i.next = add i64 %i, 1",
            "  %more = icmp ult i64 %i.next, %blocks",
            "  br i1 %more, label %loop, label %end",
            "end:",
            f"  ret i64 %x{links}",
            "}",
        ]
    )


def _close_loops(repeats: str) -> list[str]:
    return [
        "  %i.next = add i64 %i, 1",
        "  %more = icmp ult i64 %i.next, %blocks",
        "  br i1 %more, label %loop, label %again.end",
        "again.end:",
        "  %r.next = add i64 %r, 1",
        f"  %more.r = icmp ult i64 %r.next, %{repeats}",
        "  br i1 %more.r, label %again, label %end",
        "end:",
    ]
