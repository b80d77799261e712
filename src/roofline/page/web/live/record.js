// @ts-check
// What a measurement found, as files that the command line and the page read: a machine file
// (roofline.machine/1) and points (roofline.points/1).

/** @type {Record<string, string>} */
const ENGINES = { wasm: "WebAssembly", webgpu: "WebGPU", wllama: "llama.cpp WebAssembly" };
/** @type {(value: number) => number} */
const round = (value) => Number(value.toPrecision(6));

/** @type {(agent: string) => string[]} */
const safari = (agent) => {
  const version = /Version\/(\d+).*Safari/.exec(agent)?.[1];
  return version ? ["Safari", version] : ["a browser", ""];
};

// "Chromium 156 on Linux", as far as the browser says.
/** @type {(navigator: Navigator & { userAgentData?: AgentData }) => string} */
export function browserName(navigator) {
  const data = navigator.userAgentData;
  /** @type {{ brand: string, version: string }[]} */
  const all = data?.brands ?? [];
  const brands = all.filter(({ brand }) => !/not.*brand/i.test(brand));
  const own = brands.find(({ brand }) => brand !== "Chromium") ?? brands[0];
  if (own) return `${own.brand} ${own.version}${data?.platform ? ` on ${data.platform}` : ""}`;
  const agent = navigator.userAgent ?? "";
  const [, name, version] = /(Firefox|Edg|OPR|HeadlessChrome|Chrome)\/(\d+)/.exec(agent) ?? [
    0,
    ...safari(agent),
  ];
  const system = /Windows|Android|iPhone|iPad|Mac OS X|CrOS|Linux/.exec(agent)?.[0];
  return `${name} ${version}`.trim() + (system ? ` on ${system}` : "");
}

// The machine that a roof makes. roof: a message of type roof; about: {browser, version, date}.
/** @type {(roof: RoofFound, about: About, memory: number) => { id: string, name: string, [part: string]: unknown }} */
export function toMachine(roof, about, memory) {
  const engine = ENGINES[roof.engine];
  const how =
    roof.engine === "wasm"
      ? `${roof.threads} thread${roof.threads === 1 ? "" : "s"}${roof.able?.fused ? "" : ", no fused multiply-add"}`
      : roof.about?.name;
  const note = {
    wasm: "read in windows; the best of them",
    webgpu: `the best window, by ${roof.bandwidth.clock === "gpu" ? "the adapter's clock" : "the page's clock"}`,
  }[roof.engine];
  /** @type {(rate: Rate, more: string) => object} */
  const figure = ({ best, median, spread, samples }, more) => ({
    value: round(best),
    source: "here",
    note: `${note}, of ${samples}; median ${median.toPrecision(4)}${more}`,
    ...(spread === null ? {} : { spread: round(spread) }),
  });
  const precisions = Object.entries(roof.compute).map(([precision, found]) => [
    precision,
    {
      ...figure(
        found,
        "; products by roofline's own kernel, not the adapter's or processor's peak",
      ),
      accumulate: "fp32",
    },
  ]);
  return {
    schema: "roofline.machine/1",
    id: `browser-${roof.engine === "wasm" ? "webassembly" : "webgpu"}`,
    name: `${about.browser}, ${engine}, ${how}`,
    kind: roof.engine === "wasm" || roof.about?.software ? "cpu" : "gpu",
    memory: {
      usable: { value: memory, source: "here", note: "what this measurement was allowed to take" },
    },
    measured: {
      bandwidth: { memory: figure(roof.bandwidth, "") },
      compute: Object.fromEntries(precisions),
    },
    notes: roof.about?.software
      ? ["A software adapter: WebGPU's code runs on the processor, and says nothing of a GPU."]
      : [],
    sources: {
      here: {
        title: `measured in ${about.browser} by roofline ${about.version}`,
        url: "",
        date: about.date,
      },
    },
  };
}

// A point as a line of a points file. found: a message of type point; model: a name.
/** @type {(found: PointFound, roof: RoofFound, model: string, about: About & { machine: string,
 *   time: string }) => object} */
export function toPoint(found, roof, model, about) {
  const { median, best, spread, samples } = found.seconds;
  return {
    schema: "roofline.points/1",
    basis: "steps",
    phase: "decode",
    model,
    layers: found.layers,
    weights: found.format,
    kv: found.format,
    compute: found.format,
    weight_bytes: found.weights,
    machine: about.machine,
    devices: 1,
    engine: `roofline-${found.engine}`,
    engine_version: about.version,
    parts: [
      {
        count: 1,
        grows: false,
        groups: [{ batch: found.batch, new_tokens: 1, past: found.context - 1 }],
      },
    ],
    seconds: { median, best, ...(spread === null ? {} : { spread }), samples },
    roof: {
      bandwidth: roof.bandwidth.best,
      compute: Object.fromEntries(Object.entries(roof.compute).map(([k, v]) => [k, v.best])),
      overhead: {},
    },
    settings: {
      browser: about.browser,
      weights: "random",
      ...(found.threads ? { threads: found.threads } : {}),
      ...(found.clock ? { clock: found.clock } : {}),
    },
    time: about.time,
    ...(found.hidden ? { notes: ["The tab was hidden while this was measured."] } : {}),
  };
}

/** @type {(points: object[]) => string} */
export const toLines = (points) => points.map((p) => `${JSON.stringify(p)}\n`).join("");
