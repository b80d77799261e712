// @ts-check
// A WebAssembly assembler for the few instructions that the kernels need.
//
// An expression is an array of bytes; operators take their operands as expressions, so that
// code reads like the folded text format: i32.add(get(p), i32.const(16)). One source gives
// every variant that a browser needs (memory shared or not, fused multiply-add or not, this
// many pages), and the page carries readable code instead of a binary of unknown origin.
// Specification: WebAssembly 2.0 with SIMD, threads and relaxed SIMD.

const I32 = 0x7f;
const F32 = 0x7d;
const V128 = 0x7b;
/** @type {Record<ValueType, number>} */
const TYPES = { i32: I32, f32: F32, v128: V128 };
const VOID = 0x40;

// Unsigned and signed LEB128.
/** @type {(value: number) => Code} */
function unsigned(value) {
  const bytes = [];
  let rest = value;
  do {
    const low = rest & 0x7f;
    rest >>>= 7;
    bytes.push(rest ? low | 0x80 : low);
  } while (rest);
  return bytes;
}

/** @type {(value: number) => Code} */
function signed(value) {
  const bytes = [];
  let rest = value | 0;
  for (;;) {
    const low = rest & 0x7f;
    rest >>= 7;
    const done = (rest === 0 && !(low & 0x40)) || (rest === -1 && low & 0x40);
    bytes.push(done ? low : low | 0x80);
    if (done) return bytes;
  }
}

/** @type {(value: number) => Code} */
const float = (value) => [...new Uint8Array(new Float32Array([value]).buffer)];
/** @type {(name: string) => Code} */
const text = (name) => [...unsigned(name.length), ...[...name].map((c) => c.charCodeAt(0))];
/** @type {(items: Code[]) => Code} */
const vector = (items) => [...unsigned(items.length), ...items.flat()];
/** @type {(id: number, bytes: Code) => Code} */
const section = (id, bytes) => [id, ...unsigned(bytes.length), ...bytes];

/** @type {(...code: Code) => (...operands: Code[]) => Code} */
const plain =
  (...code) =>
  (...operands) => [...operands.flat(), ...code];
/** @type {(code: number) => (...operands: Code[]) => Code} */
const simd = (code) => plain(0xfd, ...unsigned(code));
/** @type {(code: Code, align: number) => (address: Code, offset: number, ...values: Code[]) =>
 *   Code} */
const access =
  (code, align) =>
  (address, offset, ...values) => [
    ...address,
    ...values.flat(),
    ...code,
    align,
    ...unsigned(offset),
  ];
/** @type {(code: number, align: number) => (address: Code, offset: number, ...values: Code[]) =>
 *   Code} */
const wide = (code, align) => access([0xfd, ...unsigned(code)], align);

/** @type {(local: number) => Code} */
export const get = (local) => [0x20, ...unsigned(local)];
/** @type {(local: number, value: Code) => Code} */
export const set = (local, value) => [...value, 0x21, ...unsigned(local)];
/** @type {(index: number, ...operands: Code[]) => Code} */
export const call = (index, ...operands) => [...operands.flat(), 0x10, ...unsigned(index)];

// while (condition) { body }, tested first.
/** @type {(condition: Code, ...body: Instructions) => Code} */
export const loop = (condition, ...body) => [
  ...[0x02, VOID, 0x03, VOID],
  ...condition,
  ...[0x45, 0x0d, 1],
  ...body.flat(),
  ...[0x0c, 0, 0x0b, 0x0b],
];
/** @type {(condition: Code, then: Instructions, otherwise?: Instructions) => Code} */
export const when = (condition, then, otherwise = []) => [
  ...condition,
  ...[0x04, VOID],
  ...then.flat(),
  ...(otherwise.length ? [0x05, ...otherwise.flat()] : []),
  0x0b,
];

export const i32 = {
  /** @type {(value: number) => Code} */
  const: (value) => [0x41, ...signed(value)],
  load: access([0x28], 2),
  store: access([0x36], 2),
  eq: plain(0x46),
  lt: plain(0x49), // unsigned
  le: plain(0x4d), // unsigned
  add: plain(0x6a),
  sub: plain(0x6b),
  mul: plain(0x6c),
  and: plain(0x71),
  shl: plain(0x74),
  shr: plain(0x76), // unsigned
};

export const f32 = {
  /** @type {(value: number) => Code} */
  const: (value) => [0x43, ...float(value)],
  load: access([0x2a], 2),
  store: access([0x38], 2),
  sqrt: plain(0x91),
  add: plain(0x92),
  sub: plain(0x93),
  mul: plain(0x94),
  div: plain(0x95),
  max: plain(0x97),
  from: plain(0xb3), // of an unsigned integer
};

export const v128 = {
  load: wide(0, 4),
  splat32: wide(9, 2), // loads 32 bits into every lane
  store: wide(11, 4),
  and: simd(78),
  or: simd(80),
  xor: simd(81),
};

export const i32x4 = {
  /** @type {(a: number, b: number, c: number, d: number) => Code} */
  const: (a, b, c, d) => [0xfd, 12, ...new Uint8Array(new Int32Array([a, b, c, d]).buffer)],
  splat: simd(17),
  /** @type {(value: Code, i: number) => Code} */
  lane: (value, i) => [...value, 0xfd, 27, i],
  shl: simd(171),
  shr: simd(173), // unsigned
  add: simd(174),
  mul: simd(181),
  trunc: simd(248), // of floats, signed, saturating
};

export const f32x4 = {
  /** @type {(value: number) => Code} */
  const: (value) => [0xfd, 12, ...float(value), ...float(value), ...float(value), ...float(value)],
  splat: simd(19),
  /** @type {(value: Code, i: number) => Code} */
  lane: (value, i) => [...value, 0xfd, 31, i],
  nearest: simd(106),
  add: simd(228),
  sub: simd(229),
  mul: simd(230),
  div: simd(231),
  min: simd(232),
  max: simd(233),
  from: simd(251), // of unsigned integers
  fused: simd(261), // a·b + c, relaxed SIMD
};

// A module with an imported memory ("env", "memory").
//
//   memory: {initial, maximum, shared}, pages of 64 KiB
//   functions: [{name, parameters: [type…], result: type | null, locals: [type…], body}]
/** @type {(memory: MemoryLimits, functions: Func[]) => Uint8Array<ArrayBuffer>} */
export function assemble(memory, functions) {
  const types = functions.map((f) => [
    0x60,
    ...vector(f.parameters.map((t) => [TYPES[t]])),
    ...vector(f.result ? [[TYPES[f.result]]] : []),
  ]);
  const limits = [memory.shared ? 3 : 1, ...unsigned(memory.initial), ...unsigned(memory.maximum)];
  const bodies = functions.map((f) => {
    const locals = vector(f.locals.map((t) => [1, TYPES[t]]));
    const code = [...locals, ...f.body.flat(), 0x0b];
    return [...unsigned(code.length), ...code];
  });
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector(types)),
    ...section(2, vector([[...text("env"), ...text("memory"), 2, ...limits]])),
    ...section(3, vector(functions.map((_, i) => unsigned(i)))),
    ...section(7, vector(functions.map((f, i) => [...text(f.name), 0, ...unsigned(i)]))),
    ...section(10, vector(bodies)),
  ]);
}

// A function under construction: named parameters and locals by the hundred.
//
//   define("add", { x: "i32", y: "i32" }, "i32", (f) => [i32.add(f.x, f.y)])
//
// In the body f.NAME reads a parameter; f.local(type) makes a local {get, set, add}.
/** @type {<P extends Record<string, ValueType>>(name: string, parameters: P,
 *   result: ValueType | null, write: (f: Frame & Record<keyof P, Local>) => Instructions) =>
 *   Func} */
export function define(name, parameters, result, write) {
  const names = Object.keys(parameters);
  /** @type {ValueType[]} */
  const locals = [];
  /** @type {(index: number, type: ValueType) => Local} */
  const handle = (index, type) => ({
    get: get(index),
    set: (value) => set(index, value),
    add: (value) => set(index, (type === "i32" ? i32.add : f32x4.add)(get(index), value)),
  });
  /** @type {Frame} */
  const frame = { local: (type) => handle(names.length + locals.push(type) - 1, type) };
  const handles = Object.fromEntries(names.map((n, i) => [n, handle(i, parameters[n])]));
  const f = /** @type {Frame & Record<keyof typeof parameters, Local>} */ ({
    ...frame,
    ...handles,
  });
  return { name, parameters: Object.values(parameters), result, body: write(f), locals };
}
