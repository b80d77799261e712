// @ts-check
// A measurement as the page sees it: start, listen, stop. The page never waits for it.

import { makeWorker, textOf } from "./trusted.js";

const PATIENCE = 1500; // ms between asking to stop and ending the worker

export class Session {
  // text: the worker's script; hear(message) is told of everything, at last of done or error.
  /**
   * @param {string} text
   * @param {(message: Message) => void} hear
   */
  constructor(text, hear) {
    this.text = text;
    this.hear = hear;
    /** @type {Worker | null} */
    this.worker = null;
    /** @type {Int32Array | null} */
    this.control = null;
    this.url = "";
    this.timer = 0;
    this.hidden = false;
    this.watch = () => {
      if (document.visibilityState !== "hidden" || !this.running) return;
      if (!this.hidden) hear({ type: "note", code: "hidden", values: {} });
      this.hidden = true;
    };
  }

  get running() {
    return this.worker !== null;
  }

  /** @type {(options: MeasureOptions) => void} */
  start(options) {
    this.hidden = false;
    /** @type {Worker} */
    let worker;
    try {
      this.url = URL.createObjectURL(new Blob([this.text], { type: "text/javascript" }));
      worker = makeWorker(this.url);
    } catch (error) {
      this.hear({ type: "error", code: "worker", values: { detail: textOf(error) } });
      return;
    }
    this.worker = worker;
    document.addEventListener("visibilitychange", this.watch);
    this.watch();
    worker.onmessage = ({ data }) => {
      if (data.type === "ready") this.control = data.control;
      const last = data.type === "done" || data.type === "error";
      if (last) this.end();
      this.hear(this.hidden && data.type === "point" ? { ...data, hidden: true } : data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.end();
      this.hear({ type: "error", code: "worker", values: { detail: event.message ?? "" } });
    };
    worker.postMessage({ type: "measure", options });
  }

  // Asks the worker to stop; one that does not is ended. What was found stays.
  stop() {
    if (!this.worker || this.timer) return;
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
    this.worker = null;
    this.control = null;
  }
}
