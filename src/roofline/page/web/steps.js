// @ts-check
// The steps of the guided walk: what each sets the controls to, and what it lets one try.

const LLAMA = {
  model: "llama-3.1-8b",
  machines: ["h100-sxm"],
  weights: "",
  kv: "",
  compute: "",
  ceilings: "",
  operators: false,
  devices: 1,
  prompt: 2048,
  drafted: 4,
};

/** @type {(Omit<StoryStep, "tries"> & { tries?: Try[] })[]} */
export const STEPS = [
  { key: "ceilings", set: { ...LLAMA, phase: "decode", batch: 1, context: 2048 } },
  { key: "ridge", set: { ...LLAMA, phase: "decode", batch: 1, context: 2048 } },
  { key: "prefill", set: { ...LLAMA, phase: "prefill", batch: 1, context: 2048 } },
  { key: "decode", set: { ...LLAMA, phase: "decode", batch: 1, context: 1 } },
  {
    key: "batch",
    set: { ...LLAMA, phase: "decode", batch: 256, context: 1 },
    tries: [8, 64, 256].map((batch) => ({ key: "batch", values: { batch }, set: { batch } })),
  },
  {
    key: "cache",
    set: { ...LLAMA, phase: "decode", batch: 256, context: 2048 },
    tries: [1, 2048, 8192, 32768].map((context) => ({
      key: "context",
      values: { context },
      set: { context },
    })),
  },
  {
    key: "heads",
    set: { ...LLAMA, phase: "decode", batch: 64, context: 8192 },
    tries: [
      { key: "multihead", set: { model: "llama-2-7b" } },
      { key: "grouped", set: { model: "llama-3.1-8b" } },
      { key: "windows", set: { model: "gpt-oss-20b" } },
      { key: "latent", set: { model: "deepseek-v3" } },
    ],
  },
  {
    key: "experts",
    set: {
      ...LLAMA,
      model: "qwen3-30b-a3b",
      phase: "decode",
      batch: 16,
      context: 2048,
      operators: true,
    },
    tries: [1, 16, 256].map((batch) => ({ key: "batch", values: { batch }, set: { batch } })),
  },
  {
    key: "formats",
    set: { ...LLAMA, phase: "decode", batch: 16, context: 8192, weights: "int4:128" },
    tries: [
      { key: "own", set: { weights: "", kv: "" } },
      { key: "int4", set: { weights: "int4:128", kv: "" } },
      { key: "fp8kv", set: { weights: "int4:128", kv: "fp8" } },
    ],
  },
  {
    key: "servers",
    set: { ...LLAMA, phase: "mixed", batch: 192, context: 2048, prompt: 512 },
    tries: [
      { key: "mixed", set: { phase: "mixed" } },
      { key: "decodeonly", set: { phase: "decode" } },
    ],
  },
];

/** @type {(data: PageData, set: Patch) => boolean} */
const possible = (data, set) =>
  (!set.model || data.models.some((m) => m.id === set.model)) &&
  (set.machines ?? []).every((id) => data.machines.some((m) => m.id === id));

// The steps that the page's models and machines allow.
/** @type {(data: PageData) => StoryStep[]} */
export function stepsFor(data) {
  return STEPS.filter((step) => possible(data, step.set)).map((step) => ({
    ...step,
    tries: (step.tries ?? []).filter((one) => possible(data, one.set)),
  }));
}
