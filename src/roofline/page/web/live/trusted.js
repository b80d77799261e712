// @ts-check
// Workers from addresses that this code made itself. Where the page demands trusted addresses
// (require-trusted-types-for), one policy makes just these; a worker has its own.

/** @typedef {{ createScriptURL: (url: string) => string }} Policy */
/** @typedef {{ trustedTypes?: { createPolicy: (name: string, rules: object) => Policy } }} Trusting */
/** @type {Policy | undefined} */
let policy;

/** @type {(url: string, options?: WorkerOptions) => Worker} */
export function makeWorker(url, options) {
  const { trustedTypes } = /** @type {Trusting} */ (globalThis);
  policy ??= trustedTypes?.createPolicy("roofline-live", {
    createScriptURL: (/** @type {string} */ u) => u,
  });
  return new Worker(policy ? policy.createScriptURL(url) : url, options);
}

// What an error says.
/** @type {(error: unknown) => string} */
export const textOf = (error) => (error instanceof Error ? error.message : String(error));
