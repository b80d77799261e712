"""llama.cpp, in this process: true batched decode, all sequences in one call of `llama_decode`.

Every step decodes one token of every sequence at the same context: after each step the new cache
entries are taken back, outside the timed part. Sampling is not part of a step.
"""

from __future__ import annotations

import os

from ..errors import RooflineError
from ..results.llama_cpp import quantisation
from .base import Job, Setup
from .chosen import Chosen
from .drive import Stepwise
from .libllama import LibLlama

UBATCH = 512


class LlamaCpp:
    """An engine over one GGUF file.

    Args:
        path: the file.
        model: how to call the model in points: a catalogue name or the file itself.
        weights: its format by roofline's name; for files of mixed formats, the size decides.
        layers: where the model was shortened.
        threads: CPU threads.
        library: a libllama to use instead of the one that is found.
        sized: let the file's size say how many bits a weight has (a file of mixed formats).
        real: its weights are a trained model's: show what it writes.
    """

    def __init__(
        self,
        path: str,
        *,
        model: str,
        weights: str,
        layers: int | None = None,
        threads: int | None = None,
        library: str | None = None,
        sized: bool = False,
        real: bool = False,
    ) -> None:
        self.lib = LibLlama(library)
        self.threads = threads or _cores()
        self.model = self.lib.load_model(path)
        self.vocab = int(self.lib.vocab_n_tokens(self.lib.model_get_vocab(self.model))) or 1
        weights = weights or quantisation(self.lib.description(self.model)) or ""
        plain = {"fp32": "fp32", "fp16": "fp16", "bf16": "bf16"}.get(weights)
        self.setup = Setup(
            engine="llama.cpp",
            version=_version(self.lib.path),
            model=model,
            weights=weights,
            kv="fp16",
            layers=layers,
            weight_bytes=float(self.lib.model_size(self.model)) if sized else None,
            # Quantised weights are multiplied as bytes, by activations quantised on the way.
            compute=None if plain else "int8",
            precisions=(plain or "int8", "fp16"),
            device="cpu",
            chunk=UBATCH,
            settings={
                "device": "cpu",
                "threads": self.threads,
                "ubatch": UBATCH,
                "system": self.lib.system,
                "library": os.path.basename(self.lib.path),
                "description": self.lib.description(self.model),
                "wait_policy": os.environ.get("OMP_WAIT_POLICY", "default"),
                "sampling": False,
                **({"writes": said} if real and (said := self._writes()) else {}),
            },
        )

    def _writes(self) -> str:
        from .greedy import write

        return write(self.lib, self.model, self.threads)

    def prepare(self, job: Job) -> LlamaRun:
        """A context with the job's cache filled."""
        return LlamaRun(self, job)

    def close(self) -> None:
        """Free the model."""
        if self.model:
            self.lib.model_free(self.model)
            self.model = 0


class LlamaRun:
    """One job: a context, its cache filled, and the batch of the step."""

    def __init__(self, engine: LlamaCpp, job: Job) -> None:
        self.engine, self.lib, self.job = engine, engine.lib, job
        sequences = job.batch
        # llama.cpp shares the cells out evenly and rounds each share up to 256.
        share = -(-(job.length + 1) // 256) * 256
        most = max(job.batch, min(job.batch * job.length, 2048), UBATCH)
        self.limit = most
        self.context = self.lib.context(engine.model, share * sequences, most, UBATCH, sequences)
        self.memory = self.lib.get_memory(self.context)
        self.lib.set_n_threads(self.context, engine.threads, engine.threads)
        self.batch = self.lib.batch_init(most, 0, 1)
        if job.phase == "decode":
            self._fill()
            self._decode_batch()

    def _put(self, index: int, position: int, sequence: int, wanted: bool) -> None:
        batch = self.batch
        batch.token[index] = (7 * position + 13 * sequence + 1) % self.engine.vocab
        batch.pos[index] = position
        batch.n_seq_id[index] = 1
        batch.seq_id[index][0] = sequence
        batch.logits[index] = 1 if wanted else 0

    def _run(self, count: int) -> None:
        self.batch.n_tokens = count
        code = self.lib.decode(self.context, self.batch)
        self.lib.synchronize(self.context)
        if code != 0:
            reason = self.lib.last_error or f"code {code}"
            raise RooflineError(f"llama.cpp refused a step of {count} tokens ({reason})")

    def _feed(self, sequences: int, tokens: int) -> None:
        """`tokens` tokens of the first `sequences` sequences, as many a call as fit."""
        index = 0
        for sequence in range(sequences):
            for position in range(tokens):
                self._put(index, position, sequence, position == tokens - 1)
                index += 1
                if index == self.limit:
                    self._run(index)
                    index = 0
        if index:
            self._run(index)

    def _fill(self) -> None:
        """A cache of `length - 1` tokens for every sequence: one computed, the others copied."""
        past = self.job.length - 1
        if past == 0:
            return
        self._feed(1, past)
        for sequence in range(1, self.job.batch):
            self.lib.memory_seq_cp(self.memory, 0, sequence, -1, -1)

    def _decode_batch(self) -> None:
        for sequence in range(self.job.batch):
            self._put(sequence, self.job.length - 1, sequence, True)

    def step(self) -> None:
        """One decode step of all sequences, or one prefill of all prompts."""
        if self.job.phase == "decode":
            self._run(self.job.batch)
        else:
            self._feed(self.job.batch, self.job.length)

    def rewind(self) -> None:
        """Take the step's cache entries back."""
        if self.job.phase == "decode":
            for sequence in range(self.job.batch):
                self.lib.memory_seq_rm(self.memory, sequence, self.job.length - 1, -1)
        else:
            self.lib.memory_clear(self.memory, False)

    def close(self) -> None:
        """Free the context."""
        if self.context:
            self.lib.batch_free(self.batch)
            self.lib.free(self.context)
            self.context = 0


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(path: str) -> str:
    """The wheel's version where it is the wheel's library, else the library's name."""
    name = os.path.basename(path)
    if "xllamacpp" in name:
        from importlib.metadata import PackageNotFoundError, version

        try:
            return f"xllamacpp {version('xllamacpp')}"
        except PackageNotFoundError:
            return "xllamacpp"
    return name


def opened(chosen: Chosen) -> Stepwise:
    """The file in llama.cpp, or one with random weights, which leaves nothing behind."""
    r = chosen.request
    engine = Stepwise(
        LlamaCpp(
            chosen.source() or chosen.written(),
            model=chosen.model_name,
            weights=chosen.weights or "",
            layers=r.layers if r.gguf is None else None,
            threads=r.threads,
            library=r.library,
            sized=r.gguf is not None,
            real=r.gguf is not None,
        )
    )
    if os.name == "posix":  # mapped into memory: its name is not needed any more,
        chosen.clean()  # and nothing is left behind even by a kill
    return engine
