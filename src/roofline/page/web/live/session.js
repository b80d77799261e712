// A measurement as the page sees it: start, listen, stop. The page never waits for it.

import { makeWorker } from "./trusted.js";

const PATIENCE = 1500; // ms between asking to stop and ending the worker

export class Session {
  // text: the worker's script; hear(message) is told of everything, at last of done or error.
  constructor(text, hear) {
    Object.assign(this, { text, hear, worker: null, control: null, timer: 0, hidden: false });
    this.watch = () => {
      if (document.visibilityState !== "hidden" || !this.running) return;
      if (!this.hidden) hear({ type: "note", code: "hidden", values: {} });
      this.hidden = true;
    };
  }

  get running() {
    return this.worker !== null;
  }

  start(options) {
    this.hidden = false;
    let made;
    try {
      const url = URL.createObjectURL(new Blob([this.text], { type: "text/javascript" }));
      made = { url, worker: makeWorker(url) };
    } catch (error) {
      this.hear({ type: "error", code: "worker", values: { detail: String(error.message) } });
      return;
    }
    Object.assign(this, made);
    document.addEventListener("visibilitychange", this.watch);
    this.watch();
    this.worker.onmessage = ({ data }) => {
      if (data.type === "ready") this.control = data.control;
      const last = data.type === "done" || data.type === "error";
      if (last) this.end();
      this.hear(this.hidden && data.type === "point" ? { ...data, hidden: true } : data);
    };
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.end();
      this.hear({ type: "error", code: "worker", values: { detail: event.message ?? "" } });
    };
    this.worker.postMessage({ type: "measure", options });
  }

  // Asks the worker to stop; one that does not is ended. What was found stays.
  stop() {
    if (!this.running || this.timer) return;
    if (this.control) Atomics.store(this.control, 2, 1);
    this.worker.postMessage({ type: "stop" });
    this.timer = setTimeout(() => {
      this.end();
      this.hear({ type: "done", stopped: true });
    }, PATIENCE);
  }

  end() {
    clearTimeout(this.timer);
    this.timer = 0;
    document.removeEventListener("visibilitychange", this.watch);
    this.worker?.terminate();
    URL.revokeObjectURL(this.url);
    Object.assign(this, { worker: null, control: null });
  }
}
