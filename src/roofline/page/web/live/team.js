// @ts-check
// Threads of WebAssembly over one memory, all running the same program, meeting at barriers.
//
// Without shared memory (no cross-origin isolation) a team is one thread and barriers are free.

const [ARRIVED, GENERATION, STOP, FIRST, SECOND, NEXT] = [0, 1, 2, 3, 4, 5];
const CHUNKS = 4; // parts of a job for each thread, at most
// Looks before a thread sleeps. More of them cost more than they save: a thread that spins takes
// its processor, or the half of a core that it shares, from those that it waits for.
const SPIN = 500;
const CONTROL_BYTES = 1024;

// One thread of a team, as a program sees it.
export class Thread {
  /** @param {ThreadOf} of */
  constructor({ index, count, memory, kernels, control }) {
    this.index = index;
    this.count = count;
    this.kernels = kernels;
    this.control = control;
    this.floats = new Float32Array(memory.buffer);
    this.words = new Uint32Array(memory.buffer);
    this.turn = 0;
  }

  // Returns when all threads are here.
  barrier() {
    const { control } = this;
    if (this.count === 1) {
      control[NEXT] = 0;
      return;
    }
    const generation = Atomics.load(control, GENERATION);
    if (Atomics.add(control, ARRIVED, 1) === this.count - 1) {
      Atomics.store(control, ARRIVED, 0);
      Atomics.store(control, NEXT, 0); // all are here: nobody shares anything out
      Atomics.add(control, GENERATION, 1);
      Atomics.notify(control, GENERATION);
      return;
    }
    for (let i = 0; i < SPIN; i++) if (Atomics.load(control, GENERATION) !== generation) return;
    while (Atomics.load(control, GENERATION) === generation) {
      Atomics.wait(control, GENERATION, generation, 1000);
    }
  }

  // A barrier at which the first thread says yes or no for all. Two slots in turn: a thread may
  // be one barrier ahead of another that has yet to read.
  /** @type {(ask: () => boolean) => boolean} */
  decide(ask) {
    this.turn ^= 1;
    const slot = this.turn ? FIRST : SECOND;
    if (this.index === 0) Atomics.store(this.control, slot, ask() ? 1 : 0);
    this.barrier();
    return Atomics.load(this.control, slot) === 1;
  }

  // Whether somebody pressed stop; for the first thread's `decide` only.
  get stopped() {
    return Atomics.load(this.control, STOP) === 1;
  }

  // Shares n things out, once between two barriers: work(from, to) for a few at a time, until
  // none are left. A thread that is slow, or that the system takes away, gets fewer.
  /** @type {(n: number, unit: number, work: (from: number, to: number) => void) => void} */
  share(n, unit, work) {
    if (this.count === 1) {
      work(0, n);
      return;
    }
    const each = unit * Math.max(1, Math.ceil(n / unit / this.count / CHUNKS));
    for (;;) {
      const from = Atomics.add(this.control, NEXT, each);
      if (from >= n) return;
      work(from, Math.min(n, from + each));
    }
  }

  // This thread's part of n things, in units of `unit`: [from, to).
  /** @type {(n: number, unit?: number) => [from: number, to: number]} */
  part(n, unit = 1) {
    const units = Math.ceil(n / unit);
    /** @type {(i: number) => number} */
    const cut = (i) => Math.min(n, unit * Math.floor((units * i) / this.count));
    return [cut(this.index), cut(this.index + 1)];
  }
}

/** @type {(control: Int32Array) => void} */
export const stop = (control) => Atomics.store(control, STOP, 1);

// The memory, control words and module of a team.
//
// Raises RangeError where the browser will not give so much memory.
/** @type {(bytes: number, shared: boolean) => { memory: WebAssembly.Memory, limits: MemoryLimits,
 *   control: Int32Array<ArrayBuffer | SharedArrayBuffer> }} */
export function makeMemory(bytes, shared) {
  const pages = Math.ceil(bytes / 65536);
  const limits = { initial: pages, maximum: pages, shared };
  const memory = new WebAssembly.Memory(limits);
  const control = new Int32Array(
    shared ? new SharedArrayBuffer(CONTROL_BYTES) : new ArrayBuffer(CONTROL_BYTES),
  );
  return { memory, limits, control };
}

/** @type {(instance: WebAssembly.Instance) => Kernels} */
const asKernels = ({ exports }) => /** @type {Kernels} */ (/** @type {unknown} */ (exports));

// What the other threads of a team do: wait for a program, run it, wait for the next.
/** @type {(port: WorkerPort, programs: Record<string, Program>, start: Omit<ThreadOf,
 *   "kernels"> & { module: WebAssembly.Module }) => void} */
export function serve(port, programs, start) {
  const imports = { env: { memory: start.memory } };
  const kernels = asKernels(new WebAssembly.Instance(start.module, imports));
  const thread = new Thread({ ...start, kernels });
  port.onmessage = ({ data }) => {
    thread.turn = 0;
    thread.count = data.count;
    if (thread.index < data.count) programs[data.name](thread, data.options);
  };
  port.postMessage({ type: "joined" });
}

// The team as its first thread sees it.
export class Team {
  // makeWorker: () → Worker that calls `serve` when it is sent {type: "join", start}.
  /** @type {(of: TeamOf) => Promise<Team>} */
  static async make({ count, memory, control, code, makeWorker }) {
    const module = await WebAssembly.compile(code);
    const kernels = asKernels(await WebAssembly.instantiate(module, { env: { memory } }));
    const first = new Thread({ index: 0, count, memory, kernels, control });
    const workers = Array.from({ length: count - 1 }, makeWorker);
    await Promise.all(
      workers.map((worker, i) => {
        worker.postMessage({
          type: "join",
          start: { index: i + 1, count, memory, module, control },
        });
        return new Promise((resolve, reject) => {
          worker.onmessage = resolve;
          worker.onerror = () => reject(new Error("a thread could not start"));
        });
      }),
    );
    return new Team(first, workers);
  }

  /**
   * @param {Thread} first
   * @param {Worker[]} workers the other threads
   */
  constructor(first, workers) {
    this.first = first;
    this.workers = workers;
  }

  get size() {
    return this.workers.length + 1;
  }

  // Runs a program on the first `count` threads; the first thread's result.
  /** @type {<J, R>(program: (t: Thread, job: J) => R, name: string, options: J,
   *   count?: number) => R} */
  run(program, name, options, count = this.size) {
    this.workers.slice(0, count - 1).forEach((w) => w.postMessage({ name, options, count }));
    this.first.turn = 0;
    this.first.count = count;
    return program(this.first, options);
  }
}
