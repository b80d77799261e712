// @ts-check
// The WebAssembly kernels: SIMD of 128 bits, 32-bit floats, written once for every variant.
//
// A matrix product here is Y[b][o] = Σ_i X[b][i]·W[o][i]: both operands run along i, so rows of
// weights stream from memory just as they lie, each row read once for the whole batch.
// Register tiles (batch rows × weight rows) keep enough sums in flight to hide the latency of a
// multiply-add, and read several long streams at once, which memory likes.

import { assemble, call, define, f32, f32x4, i32, i32x4, loop, v128, when } from "./assemble.js";

/** @type {(n: Code) => Code} */
const bytes = (n) => i32.mul(n, i32.const(4));
/** @type {(n: number) => number[]} */
const range = (n) => Array.from({ length: n }, (_, i) => i);

// The same numbers in every language: an integer hash of index and seed ("lowbias32", public
// domain, by C. Wellons), its upper 24 bits as a number in [-1, 1), times a scale.
const fill = define(
  "fill",
  { to: "i32", count: "i32", first: "i32", seed: "i32", scale: "f32" },
  null,
  (f) => {
    const [x, end, scale] = [f.local("v128"), f.local("i32"), f.local("v128")];
    const index = f.local("v128");
    /** @type {(by: number) => Code} */
    const fold = (by) => x.set(v128.xor(x.get, i32x4.shr(x.get, i32.const(by))));
    return [
      end.set(i32.add(f.to.get, bytes(f.count.get))),
      scale.set(f32x4.splat(f.scale.get)),
      index.set(
        i32x4.add(
          i32x4.splat(i32.add(f.first.get, i32.mul(f.seed.get, i32.const(0x9e3779b9)))),
          i32x4.const(0, 1, 2, 3),
        ),
      ),
      ...loop(
        i32.lt(f.to.get, end.get),
        x.set(index.get),
        fold(16),
        x.set(i32x4.mul(x.get, i32x4.splat(i32.const(0x7feb352d)))),
        fold(15),
        x.set(i32x4.mul(x.get, i32x4.splat(i32.const(0x846ca68b)))),
        fold(16),
        v128.store(
          f.to.get,
          0,
          f32x4.mul(
            f32x4.sub(
              f32x4.mul(f32x4.from(i32x4.shr(x.get, i32.const(8))), f32x4.const(2 ** -23)),
              f32x4.const(1),
            ),
            scale.get,
          ),
        ),
        index.set(i32x4.add(index.get, i32x4.const(4, 4, 4, 4))),
        f.to.add(i32.const(16)),
      ),
    ];
  },
);

// Integers first, first + 1, … times an odd number: their sum is known in closed form.
export const FACTOR = 0x9e3779b1;
const count = define("count", { to: "i32", count: "i32", first: "i32" }, null, (f) => {
  const [x, end] = [f.local("v128"), f.local("i32")];
  return [
    end.set(i32.add(f.to.get, bytes(f.count.get))),
    x.set(i32x4.add(i32x4.splat(f.first.get), i32x4.const(0, 1, 2, 3))),
    ...loop(
      i32.lt(f.to.get, end.get),
      v128.store(f.to.get, 0, i32x4.mul(x.get, i32x4.splat(i32.const(FACTOR)))),
      x.set(i32x4.add(x.get, i32x4.const(4, 4, 4, 4))),
      f.to.add(i32.const(16)),
    ),
  ];
});

// Reads `size` bytes (a multiple of 512) in four streams, eight sums, and adds up all words.
const STREAMS = 4;
const LOADS = 8;
const read = define("read", { from: "i32", size: "i32" }, "i32", (f) => {
  const sums = range(8).map(() => f.local("v128"));
  const at = range(STREAMS).map(() => f.local("i32"));
  const end = f.local("i32");
  const step = 16 * LOADS;
  return [
    ...at.map((p, s) =>
      p.set(i32.add(f.from.get, i32.mul(i32.shr(f.size.get, i32.const(2)), i32.const(s)))),
    ),
    end.set(at[1].get),
    ...loop(
      i32.lt(at[0].get, end.get),
      ...at.map((p, s) =>
        range(LOADS).flatMap((i) => {
          const sum = sums[(s * LOADS + i) % sums.length];
          return sum.set(i32x4.add(sum.get, v128.load(p.get, 16 * i)));
        }),
      ),
      ...at.map((p) => p.add(i32.const(step))),
    ),
    ...sums.slice(1).map((sum) => sums[0].set(i32x4.add(sums[0].get, sum.get))),
    range(4)
      .map((i) => i32x4.lane(sums[0].get, i))
      .reduce((a, b) => i32.add(a, b)),
  ];
});

/** @type {(v: Code) => Code} */
const lanes = (v) =>
  range(4)
    .map((i) => f32x4.lane(v, i))
    .reduce((a, b) => f32.add(a, b));

// One register tile: nb rows of X by no rows of W, `unroll` vectors of i a turn.
/** @type {(f: Tile, nb: number, no: number, unroll: number, fused: boolean) => Instructions} */
function tile(f, nb, no, unroll, fused) {
  const size = nb * no * unroll;
  while (f.sums.length < size) f.sums.push(f.local("v128"));
  /** @type {(b: number, o: number, u: number) => Local} */
  const at = (b, o, u) => f.sums[(b * no + o) * unroll + u];
  /** @type {(a: Code, b: Code, c: Code) => Code} */
  const madd = (a, b, c) => (fused ? f32x4.fused(a, b, c) : f32x4.add(f32x4.mul(a, b), c));
  const sums = f.sums.slice(0, size);
  return [
    ...sums.map((s) => s.set(f32x4.const(0))),
    ...range(nb).map((b) => f.px[b].set(i32.add(f.xrow.get, i32.mul(f.xs.get, i32.const(b))))),
    ...range(no).map((o) => f.pw[o].set(i32.add(f.wrow.get, i32.mul(f.wgap.get, i32.const(o))))),
    f.end.set(i32.add(f.px[0].get, bytes(f.k.get))),
    ...loop(
      i32.lt(f.px[0].get, f.end.get),
      ...range(unroll).flatMap((u) => [
        ...range(no).map((o) => f.vw[o].set(v128.load(f.pw[o].get, 16 * u))),
        ...range(nb).flatMap((b) => [
          f.vx.set(v128.load(f.px[b].get, 16 * u)),
          ...range(no).map((o) => at(b, o, u).set(madd(f.vx.get, f.vw[o].get, at(b, o, u).get))),
        ]),
      ]),
      ...[...f.px.slice(0, nb), ...f.pw.slice(0, no)].map((p) => p.add(i32.const(16 * unroll))),
    ),
    ...range(nb).flatMap((b) => [
      f.py.set(i32.add(f.yrow.get, i32.mul(f.ys.get, i32.const(b)))),
      ...range(no).flatMap((o) => {
        const sum = at(b, o, 0);
        return [
          ...range(unroll)
            .slice(1)
            .map((u) => sum.set(f32x4.add(sum.get, at(b, o, u).get))),
          when(
            f.add.get,
            [f32.store(f.py.get, 0, f32.add(f32.load(f.py.get, 0), lanes(sum.get)))],
            [f32.store(f.py.get, 0, lanes(sum.get))],
          ),
          f.py.add(f.ygap.get),
        ];
      }),
    ]),
  ];
}

// Y = X·Wᵀ, or Y += X·Wᵀ. Strides are bytes; k is a multiple of 8.
//   x: nx rows, w: nw rows, y: nx rows of nw numbers
/** @type {(fused: boolean) => Func} */
const product = (fused) =>
  define(
    "product",
    {
      ...{ x: "i32", xs: "i32", nx: "i32", w: "i32", ws: "i32", nw: "i32", k: "i32" },
      ...{ y: "i32", ys: "i32", add: "i32" },
    },
    null,
    (f) => {
      /** @type {(type: ValueType, n: number) => Local[]} */
      const many = (type, n) => range(n).map(() => f.local(type));
      const tiled = {
        ...f,
        /** @type {Local[]} */
        sums: [],
        px: many("i32", 4),
        pw: many("i32", 4),
        vw: many("v128", 4),
        vx: f.local("v128"),
        py: f.local("i32"),
        end: f.local("i32"),
        xrow: f.local("i32"),
        yrow: f.local("i32"),
        wrow: f.local("i32"),
        wgap: f.local("i32"),
        ygap: f.local("i32"),
      };
      const [o, b, rows] = many("i32", 3);
      const ycol = f.local("i32");
      const start = [
        tiled.wrow.set(i32.add(f.w.get, i32.mul(o.get, f.ws.get))),
        ycol.set(i32.add(f.y.get, bytes(o.get))),
      ];
      const top = [tiled.xrow.set(f.x.get), tiled.yrow.set(ycol.get)];
      /** @type {(n: number) => Instructions} */
      const down = (n) => [
        tiled.xrow.add(i32.mul(f.xs.get, i32.const(n))),
        tiled.yrow.add(i32.mul(f.ys.get, i32.const(n))),
        b.add(i32.const(n)),
      ];
      /** @type {(at: Local, n: number, limit: Local) => Code} */
      const room = (at, n, limit) => i32.le(i32.add(at.get, i32.const(n)), limit.get);
      // `no` weight rows at a time, all batch rows inside: weights come from memory once. The
      // rows of a tile lie far apart, each the head of a long stream: what prefetchers like.
      /** @type {(no: number, widths: number[], unroll: (nb: number, no: number) => number) =>
       *   Code[]} */
      const sweep = (no, widths, unroll) => [
        ...(no === 1
          ? [rows.set(f.nw.get)]
          : [o.set(i32.const(0)), rows.set(i32.shr(f.nw.get, i32.const(Math.log2(no))))]),
        tiled.wgap.set(i32.mul(rows.get, f.ws.get)),
        tiled.ygap.set(bytes(rows.get)),
        loop(
          i32.lt(o.get, rows.get),
          ...start,
          ...top,
          b.set(i32.const(0)),
          ...widths.map((nb) =>
            loop(room(b, nb, f.nx), ...tile(tiled, nb, no, unroll(nb, no), fused), ...down(nb)),
          ),
          o.add(i32.const(1)),
        ),
        // where the last, smaller sweep goes on
        ...(no === 1 ? [] : [o.set(i32.mul(rows.get, i32.const(no)))]),
      ];
      /** @type {(nb: number, no: number) => number} */
      const few = (nb, no) => (nb * no < 8 ? 2 : 1);
      return [
        when(
          i32.lt(f.nx.get, i32.const(3)),
          [...sweep(4, [2, 1], few), ...sweep(1, [2, 1], () => 2)],
          [...sweep(2, [4, 3, 2, 1], few), ...sweep(1, [4, 3, 2, 1], () => 1)],
        ),
      ];
    },
  );

// y = x / sqrt(mean(x²) + epsilon) · gain
const norm = define(
  "norm",
  { x: "i32", gain: "i32", y: "i32", n: "i32", epsilon: "f32" },
  null,
  (f) => {
    const [sum, at, v] = [f.local("v128"), f.local("i32"), f.local("v128")];
    /** @type {(...body: Instructions) => Instructions} */
    const each = (...body) => [
      at.set(i32.const(0)),
      ...loop(i32.lt(at.get, bytes(f.n.get)), ...body, at.add(i32.const(16))),
    ];
    /** @type {(p: Local) => Code} */
    const of = (p) => i32.add(p.get, at.get);
    const mean = f32.div(lanes(sum.get), f32.from(f.n.get));
    return [
      sum.set(f32x4.const(0)),
      ...each(v.set(v128.load(of(f.x), 0)), sum.add(f32x4.mul(v.get, v.get))),
      sum.set(f32x4.splat(f32.div(f32.const(1), f32.sqrt(f32.add(mean, f.epsilon.get))))),
      ...each(
        v128.store(
          of(f.y),
          0,
          f32x4.mul(f32x4.mul(v128.load(of(f.x), 0), sum.get), v128.load(of(f.gain), 0)),
        ),
      ),
    ];
  },
);

// Rotary embedding of `heads` heads of width d, halves rotated against each other.
// turn: d/2 cosines, then d/2 sines, of one position.
const rotate = define("rotate", { x: "i32", heads: "i32", d: "i32", turn: "i32" }, null, (f) => {
  const [h, at, half] = [f.local("i32"), f.local("i32"), f.local("i32")];
  const [a, b, cos, sin] = range(4).map(() => f.local("v128"));
  const low = i32.add(f.x.get, at.get);
  const high = i32.add(low, half.get);
  return [
    half.set(i32.mul(f.d.get, i32.const(2))),
    ...loop(
      i32.lt(h.get, f.heads.get),
      at.set(i32.const(0)),
      ...loop(
        i32.lt(at.get, half.get),
        a.set(v128.load(low, 0)),
        b.set(v128.load(high, 0)),
        cos.set(v128.load(i32.add(f.turn.get, at.get), 0)),
        sin.set(v128.load(i32.add(i32.add(f.turn.get, half.get), at.get), 0)),
        v128.store(low, 0, f32x4.sub(f32x4.mul(a.get, cos.get), f32x4.mul(b.get, sin.get))),
        v128.store(high, 0, f32x4.add(f32x4.mul(b.get, cos.get), f32x4.mul(a.get, sin.get))),
        at.add(i32.const(16)),
      ),
      f.x.add(bytes(f.d.get)),
      h.add(i32.const(1)),
    ),
  ];
});

// Copies n numbers, `stride` bytes apart where they go.
const scatter = define(
  "scatter",
  { from: "i32", to: "i32", n: "i32", stride: "i32" },
  null,
  (f) => {
    const i = f.local("i32");
    return [
      ...loop(
        i32.lt(i.get, f.n.get),
        f32.store(f.to.get, 0, f32.load(f.from.get, 0)),
        f.from.add(i32.const(4)),
        f.to.add(f.stride.get),
        i.add(i32.const(1)),
      ),
    ];
  },
);

// e^x: 2^n · p(r), n whole, |r| ≤ ln2/2, p the Taylor polynomial of degree 7 (relative error
// under 2e-7); x is held to where the result is a normal number.
/** @type {(f: Frame, x: Local, n: Local) => Instructions} */
function exponential(f, x, n) {
  const POLYNOMIAL = [1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1];
  const r = f.local("v128");
  const value = POLYNOMIAL.reduce(
    (sum, c) => f32x4.add(f32x4.mul(sum, r.get), f32x4.const(c)),
    f32x4.const(1 / 5040),
  );
  return [
    x.set(f32x4.max(f32x4.min(x.get, f32x4.const(88)), f32x4.const(-87))),
    n.set(f32x4.nearest(f32x4.mul(x.get, f32x4.const(Math.LOG2E)))),
    // ln2 in two parts, so that the first product is exact
    r.set(f32x4.sub(x.get, f32x4.mul(n.get, f32x4.const(0.693359375)))),
    // biome-ignore lint/correctness/noPrecisionLoss: Cephes' constant as it is published
    r.set(f32x4.sub(r.get, f32x4.mul(n.get, f32x4.const(-2.12194440054690583e-4)))),
    x.set(
      f32x4.mul(
        value,
        i32x4.shl(i32x4.add(i32x4.trunc(n.get), i32x4.splat(i32.const(127))), i32.const(23)),
      ),
    ),
  ];
}

// Softmax of scale·x in place, over n numbers; those up to `padded` (a multiple of 4) become 0.
const softmax = define(
  "softmax",
  { x: "i32", n: "i32", padded: "i32", scale: "f32" },
  null,
  (f) => {
    const [at, end, v, n, most, sum] = [
      ...[f.local("i32"), f.local("i32"), f.local("v128"), f.local("v128")],
      ...[f.local("v128"), f.local("v128")],
    ];
    const greatest = range(4)
      .map((i) => f32x4.lane(most.get, i))
      .reduce((a, b) => f32.max(a, b));
    /** @type {(...body: Instructions) => Instructions} */
    const each = (...body) => [
      at.set(f.x.get),
      ...loop(i32.lt(at.get, end.get), ...body, at.add(i32.const(16))),
    ];
    return [
      end.set(i32.add(f.x.get, bytes(f.padded.get))),
      at.set(i32.add(f.x.get, bytes(f.n.get))),
      ...loop(
        i32.lt(at.get, end.get),
        f32.store(at.get, 0, f32.const(-1e30)),
        at.add(i32.const(4)),
      ),
      most.set(f32x4.const(-1e30)),
      ...each(most.set(f32x4.max(most.get, v128.load(at.get, 0)))),
      most.set(f32x4.splat(greatest)),
      sum.set(f32x4.const(0)),
      ...each(
        v.set(f32x4.mul(f32x4.sub(v128.load(at.get, 0), most.get), f32x4.splat(f.scale.get))),
        ...exponential(f, v, n),
        v128.store(at.get, 0, v.get),
        sum.add(v.get),
      ),
      sum.set(f32x4.splat(f32.div(f32.const(1), lanes(sum.get)))),
      ...each(v128.store(at.get, 0, f32x4.mul(v128.load(at.get, 0), sum.get))),
    ];
  },
);

// a = a / (1 + e^-a) · b
const gate = define("gate", { a: "i32", b: "i32", count: "i32" }, null, (f) => {
  const [end, v, n] = [f.local("i32"), f.local("v128"), f.local("v128")];
  return [
    end.set(i32.add(f.a.get, bytes(f.count.get))),
    ...loop(
      i32.lt(f.a.get, end.get),
      v.set(f32x4.sub(f32x4.const(0), v128.load(f.a.get, 0))),
      ...exponential(f, v, n),
      v128.store(
        f.a.get,
        0,
        f32x4.mul(
          f32x4.div(v128.load(f.a.get, 0), f32x4.add(v.get, f32x4.const(1))),
          v128.load(f.b.get, 0),
        ),
      ),
      f.a.add(i32.const(16)),
      f.b.add(i32.const(16)),
    ),
  ];
});

// Exact when it returns `turns` products of FLOPS floating-point operations each, run by
// `call`ing the product kernel again and again from inside, so that timing sees no JavaScript.
/** @type {(index: number) => Func} */
const repeat = (index) =>
  define(
    "repeat",
    {
      turns: "i32",
      x: "i32",
      xs: "i32",
      nx: "i32",
      w: "i32",
      ws: "i32",
      nw: "i32",
      k: "i32",
      y: "i32",
      ys: "i32",
    },
    null,
    (f) => {
      const i = f.local("i32");
      const operands = [f.x, f.xs, f.nx, f.w, f.ws, f.nw, f.k, f.y, f.ys].map((p) => p.get);
      return [
        ...loop(
          i32.lt(i.get, f.turns.get),
          call(index, ...operands, i32.const(0)),
          i.add(i32.const(1)),
        ),
      ];
    },
  );

// The module's bytes. memory: {initial, maximum, shared}; fused: relaxed SIMD's multiply-add.
/** @type {(memory: MemoryLimits, fused: boolean) => Uint8Array<ArrayBuffer>} */
export function kernels(memory, fused) {
  const list = [product(fused), fill, count, read, norm, rotate, scatter, softmax, gate];
  return assemble(memory, [...list, repeat(0)]);
}

// What this browser's WebAssembly has: SIMD at all, fused multiply-add, threads.
export function abilities() {
  const memory = { initial: 1, maximum: 1, shared: false };
  /** @type {(code: Uint8Array<ArrayBuffer>) => boolean} */
  const valid = (code) => typeof WebAssembly === "object" && WebAssembly.validate(code);
  return {
    simd: valid(kernels(memory, false)),
    fused: valid(kernels(memory, true)),
    threads:
      typeof SharedArrayBuffer === "function" &&
      Boolean(globalThis.crossOriginIsolated) &&
      valid(kernels({ ...memory, shared: true }, false)),
  };
}
