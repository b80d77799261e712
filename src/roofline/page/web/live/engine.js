// @ts-check
// The worker in which a real model runs: llama.cpp in WebAssembly, through wllama. Served with
// the page and only then; its response carries a policy of its own, so that the page's stays
// strict.
//
//   in   {type: "load", threads, parallel, context}, {type: "write", prompt, tokens, count},
//        {type: "stop"}
//   out  {type: "loading", loaded, total}, {type: "loaded", threads, seconds},
//        {type: "token", conversation, text, count}, {type: "finished", conversation, timings},
//        {type: "idle", stopped}, {type: "failed", detail}

// @ts-expect-error: it is served beside this file, see roofline/page/engine.py
import { Wllama } from "./wllama.js";

/** @type {(type: string, message: object) => void} */
const send = (type, message) => self.postMessage({ type, ...message });
const quiet = { debug() {}, log() {}, warn() {}, error() {} };
/** @type {any} */
let engine = null;
/** @type {AbortController | null} */
let stopping = null;

// The model file, with progress.
async function fetchModel() {
  const answer = await fetch("model.gguf");
  if (!answer.ok || !answer.body) throw new Error(`the server answered ${answer.status}`);
  const total = Number(answer.headers.get("Content-Length"));
  const parts = [];
  let loaded = 0;
  for (let reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    parts.push(value);
    loaded += value.length;
    send("loading", { loaded, total });
  }
}

/** @type {(options: { threads: number, parallel: number, context: number }) => Promise<void>} */
async function load({ threads, parallel, context }) {
  const start = performance.now();
  const model = await fetchModel();
  const wasm = new URL("wllama.wasm", self.location.href).href;
  engine = new Wllama({ default: wasm }, { suppressNativeLog: true, logger: quiet });
  await engine.loadModel([model], {
    n_ctx: context,
    n_threads: threads,
    n_parallel: parallel,
    n_gpu_layers: 0, // WebAssembly is what is held against WebAssembly's roof
  });
  send("loaded", { threads: engine.getNumThreads(), seconds: (performance.now() - start) / 1000 });
}

// One conversation: tokens as they come. `count` is the engine's own count of tokens made.
// One alone takes the likeliest token each time; of several each takes its own way.
/** @type {(conversation: number, job: EngineJob) => Promise<void>} */
async function converse(conversation, { prompt, tokens, count: all }) {
  const answer = await engine.createCompletion({
    ...{ prompt, max_tokens: tokens, stream: true, ignore_eos: true },
    ...{ temperature: all > 1 ? 0.8 : 0, seed: conversation + 1 },
    ...{ timings_per_token: true, cache_prompt: false, abortSignal: stopping?.signal },
  });
  let count = 0;
  let timings = null;
  for await (const chunk of answer) {
    timings = chunk.timings ?? timings;
    const text = chunk.choices?.[0]?.text ?? "";
    const now = timings?.predicted_n ?? count + (text ? 1 : 0);
    if (now > count || text) send("token", { conversation, text, count: now });
    count = now;
  }
  send("finished", { conversation, timings });
}

/** @type {(job: EngineJob) => Promise<void>} */
async function write(job) {
  stopping = new AbortController();
  const all = Array.from({ length: job.count }, (_, i) => converse(i, job));
  const ends = await Promise.allSettled(all);
  const failed = ends.find((end) => end.status === "rejected");
  const stopped = stopping.signal.aborted;
  if (failed && !stopped) throw failed.reason;
  send("idle", { stopped });
}

self.onmessage = async ({ data }) => {
  if (data.type === "stop") return stopping?.abort();
  try {
    if (data.type === "load") await load(data);
    else if (data.type === "write") await write(data);
  } catch (error) {
    send("failed", {
      detail: String(error instanceof Error ? error.message : error).slice(0, 300),
    });
  }
  return null;
};
