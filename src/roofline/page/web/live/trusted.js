// Workers from addresses that this code made itself. Where the page demands trusted addresses
// (require-trusted-types-for), one policy makes just these; a worker has its own.

let policy = null;

export function makeWorker(url, options) {
  policy ??= globalThis.trustedTypes?.createPolicy("roofline-live", { createScriptURL: (u) => u });
  return new Worker(policy ? policy.createScriptURL(url) : url, options);
}
