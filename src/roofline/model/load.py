"""A model by name or by path."""

from __future__ import annotations

import os
import re

from .. import catalogue
from ..errors import InputError, MissingExtra, NotFound, RooflineError, UnsupportedError
from ..pattern import pattern
from ..spelled import spelled
from ..words.note import Note
from . import formats
from .config import Config, read_json
from .families import read as read_family
from .model import Model, Uniform
from .unread import Unread

TYPE_CHECKING = False  # as typing has it, which takes 3 ms to import
if TYPE_CHECKING:
    from typing import Any

    from .quant import Quantised


def load(name: str, as_type: str | None = None) -> Model:
    """The model of that name in the catalogue, or of a file, a folder or a cached download.

    Tried in this order: a name in the catalogue; a path (``config.json``, a folder with it and
    its safetensors, a GGUF file or one part of a split one); ``org/name`` in the Hugging Face
    cache; a name in Ollama's store; ``org/name`` on the hub, unless ``HF_HUB_OFFLINE`` is set.
    What begins with ``.``, ``/`` or ``~`` or ends like a file is a path and nothing else.

    Args:
        as_type: the architecture to count it as, a ``model_type`` or a class (of a GGUF file,
            llama.cpp's name), where its own is one of those that are known under another name.
            A key that looks like structure and that this architecture does not know is refused.

    >>> load("llama-3.1-8b").parameters
    8030261248

    Raises:
        NotFound: no such name or file; what was tried and near misses are in the message.
        InputError: the file is not one of these, or has impossible values.
        UnsupportedError: an architecture or a format that is not counted, named.
        MissingExtra: the name would have to be fetched, and the library for it is missing.
    """
    if name.startswith((".", "/", "~")) or name.endswith(_ENDINGS):
        return from_path(os.path.expanduser(name), as_type)
    if os.sep in name and os.path.exists(name):
        return from_path(name, as_type)
    try:
        return from_entry(entry(name), as_type)
    except NotFound as error:
        return _elsewhere(name, error, as_type)


def taken(model: Model | str | os.PathLike[str], as_type: str | None = None) -> Model:
    """A model that is handed over: itself, or by its name or path.

    Raises:
        InputError: an architecture to count it as, of a model that is loaded; or as :func:`load`.
    """
    if isinstance(model, Model):
        if as_type is not None:
            raise InputError("as_type is of a model by name: load_model(name, as_type) loads it so")
        return model
    if isinstance(model, str):
        return load(model, as_type)
    return from_path(os.fspath(model), as_type)


@spelled(name=("a model's name or a path", "str", "PathLike", "Model"))
def load_model(name: str | os.PathLike[str] | Model, as_type: str | None = None) -> Model:
    """The model of that name or path, to be asked about as often as one likes.

    >>> load_model("llama-3.1-8b").parameters
    8030261248

    Args:
        name: a name in the catalogue, a path, ``org/name`` on the hub: whatever :func:`load` takes.
        as_type: the architecture to count it as, where its own is known under another name.

    Raises:
        NotFound, InputError, UnsupportedError, MissingExtra: as for :func:`load`.
        TypeError: an unknown keyword, or a value of another kind.
    """
    return taken(name, as_type)


_ENDINGS = (".json", ".gguf", ".safetensors")


def _elsewhere(name: str, error: NotFound, as_type: str | None) -> Model:
    # A path, the Hugging Face cache, Ollama's store, the hub.
    from ..files import hub, ollama

    if os.path.exists(name):
        return from_path(name, as_type)
    repo = hub.parse(name)
    if repo is not None and (folder := hub.find(repo)):
        return from_path(folder, as_type).altered(name=repo.name, source=f"{repo.repo} ({folder})")
    if blob := ollama.find(name):
        return from_path(blob, as_type).altered(name=name, source=blob)
    tried = ["the catalogue", "local paths"]
    if repo is not None:
        tried.append(f"the Hugging Face cache ({hub.caches()[0]})")
    if ollama.parse(name) is not None:
        tried.append("Ollama's store")
    if repo is None:
        return _named(name, as_type, NotFound(f"{error}; tried {_listed(tried)}"), "")
    if hub.offline():
        why = "HF_HUB_OFFLINE forbids the hub"
        return _named(name, as_type, NotFound(f"{error}; tried {_listed(tried)}; {why}"), why)
    try:
        folder = hub.fetch(repo)
    except MissingExtra as missing:
        why = "without the extra 'hub' it is not fetched"
        return _named(name, as_type, NotFound(f"{error}; tried {_listed(tried)}; {missing}"), why)
    except RooflineError as failed:
        why = str(failed).removeprefix(f"{repo.repo}: ").partition(";")[0]
        return _named(name, as_type, failed, why)
    where = f"{repo.repo} on the hub ({folder})"
    return from_path(folder, as_type).altered(name=repo.name, source=where)


def by_name(name: str) -> Model:
    """The catalogue's model that a hub id or a label begins with, stored as its other words say.

    Looked for in the catalogue alone.

    Raises:
        NotFound: the name says none, could be several, or has words that are not known.
        UnsupportedError: what it says cannot be counted.
    """
    return _named(name, None, NotFound(f"no model is known by the name '{name[:80]}'"), "")


def _named(name: str, as_type: str | None, failed: RooflineError, why: str) -> Model:
    """The catalogue's model that a name begins with, stored as its other words say.

    Raises:
        RooflineError: ``failed``, where the name says no such thing; or what of it is not known.
    """
    from . import naming, quant

    try:
        found = naming.read(name, entries())
    except NotFound as unclear:
        raise NotFound(f"{unclear}" + (f" ({why})" if why else "")) from None
    if found is None:
        raise failed from None
    config, form = dict(found.entry["config"]), found.stored
    plain = from_entry(found.entry, as_type)
    if form is not None and not form.own:
        # What the catalogue's own checkpoint is stored in is not what this name says.
        for key in _QUANTISED:
            config.pop(key, None)
        plain = from_config(config, found.entry["name"], None, as_type)
        if form.unsaid:
            reason = f"'{name[:80]}': {form.unsaid}"
            plain = plain.altered(scheme=Unread(reason))
        elif form.format:
            plain = plain.altered(scheme=Uniform(formats.parse(form.format)))
        elif form.config is not None:
            key = "quantization" if form.mlx else "quantization_config"
            stored = quant.read({key: form.config}, plain.dtype, found.entry["name"])
            assert stored is not None
            plain = quantised(plain, stored)
        plain = plain.altered(source=from_entry(found.entry, as_type).source)
    said = {"name": name[:80], "entry": found.entry["id"]}
    if form is not None and form.says:
        note = Note("named.stored", **said, stored=form.says)
    else:
        note = Note("named", **said)
    note = Note("because", note=note, why=why) if why else note
    return plain.altered(name=found.entry["name"], notes=(*plain.notes, note))


def _listed(names: list[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def from_entry(entry: dict[str, Any], as_type: str | None = None) -> Model:
    """The model of a catalogue entry."""
    model = from_config(entry["config"], entry["name"], entry.get("quant_config"), as_type)
    source = entry["source"]
    if entry.get("encodes"):
        model = model.altered(embeds=True)
    return model.altered(source=f"{source['title']}, {source['date']}")


def entry(name: str) -> dict[str, Any]:
    """The catalogue's entry of that name.

    Raises:
        NotFound: none; the message lists the nearest.
    """
    found = catalogue.pick(catalogue.text_of("model/catalogue.json"), name)
    return found or catalogue.find(name, entries(), "model")


def entries() -> list[dict[str, Any]]:
    """The catalogue's entries."""
    found: list[dict[str, Any]] = catalogue.read("model/catalogue.json")["models"]
    return found


def from_path(path: str, as_type: str | None = None) -> Model:
    """The model of a file or a folder.

    Raises:
        NotFound: nothing there, or a folder without a model.
        InputError: not a file of a known kind.
    """
    from ..files import regular

    if os.path.isdir(path):
        return _from_folder(path, as_type)
    regular.size_of(path)
    if path.endswith(".safetensors") or os.path.basename(path) == _INDEX:
        folder = os.path.dirname(path) or "."
        if not os.path.isfile(os.path.join(folder, "config.json")):
            raise NotFound(f"{path}: no config.json beside it to say what its tensors are")
        return _from_folder(folder, as_type)
    if path.endswith(".json"):
        return from_file(path, as_type)
    if not path.endswith(".gguf"):
        with regular.opened(path) as (file, _):
            start = file.read(4)
        if start.lstrip()[:1] == b"{":
            return from_file(path, as_type)
        if start != b"GGUF":
            raise InputError(
                f"{path}: not a config.json, a GGUF file or a folder with a checkpoint"
            )
    return _from_gguf(path, as_type)


_INDEX = "model.safetensors.index.json"


def _from_folder(folder: str, as_type: str | None) -> Model:
    from ..files.regular import listed

    config = os.path.join(folder, "config.json")
    if os.path.isfile(config):
        return from_file(config, as_type)
    names = [n for n in listed(folder) if n.endswith(".gguf") and not n.startswith("mmproj")]
    whole = [n for n in names if not _LATER_PART.search(n)]
    if len(whole) == 1:
        return _from_gguf(os.path.join(folder, whole[0]), as_type)
    if whole:
        raise InputError(f"{folder}: several GGUF files ({', '.join(whole[:4])}): name one")
    raise NotFound(f"{folder}: a folder without a config.json or a .gguf file")


_LATER_PART = pattern(r"-(?!00001)\d{5}-of-\d{5}\.gguf\Z")


def _from_gguf(path: str, as_type: str | None) -> Model:
    from ..files import gguf
    from .gguf import model

    return model(gguf.read(path), as_type)


def from_file(path: str, as_type: str | None = None) -> Model:
    """The model of a ``config.json``, held against the safetensors beside it if there are any."""
    data = read_json(path, constants=True)
    folder = os.path.dirname(path) or "."
    base = os.path.basename(path)
    # config.json or NAME_config.json: its quantisation lies beside it under the same name
    sibling = base.removesuffix("config.json") + "hf_quant_config.json"
    beside = os.path.join(folder, sibling)
    sidecar = read_json(beside, constants=True) if os.path.lexists(beside) else None
    if base == "config.json" and (description := _description(folder)):
        sidecar = {"description": read_json(description, constants=True)}
    title = os.path.basename(os.path.abspath(folder))
    name = title if base == "config.json" and title else base
    model = from_config(data, path, sidecar, as_type).altered(name=name, source=path)
    if base != "config.json" or isinstance(model.scheme, Unread):
        return model
    from ..files import safetensors
    from . import stored

    checkpoint = safetensors.read_folder(folder)
    return model if checkpoint is None else stored.against(model, checkpoint)


def _description(folder: str) -> str | None:
    # Ascend's msmodelslim: quant_model_description.json, or one for each way it was quantised.
    from ..files.regular import listed

    found = [n for n in listed(folder) if re.match(r"quant_model_description\w*\.json\Z", n)]
    return os.path.join(folder, found[0]) if len(found) == 1 else None


def from_config(
    data: Any, where: str = "config", sidecar: Any = None, as_type: str | None = None
) -> Model:
    """The model of a parsed config, stored as its quantisation config says.

    Args:
        data: the parsed ``config.json``.
        where: how to call it in messages.
        sidecar: the parsed ``hf_quant_config.json`` beside it, if there is one.
        as_type: see :func:`load`.

    Raises:
        InputError: not an object, or a value is missing or impossible.
        UnsupportedError: an architecture that is not counted, named. A quantisation that is not
            is named when the model is first priced as it is stored; it can be in other formats.
    """
    if not isinstance(data, dict):
        raise InputError(f"{where}: a config is a JSON object, this is a {type(data).__name__}")
    model = read_family(Config(data, where), as_type)
    if sidecar is None and not any(_QUANTISED & part.keys() for part in (data, _text(data))):
        return model
    from . import quant

    try:
        text = _text(data)
        inner = {k: text[k] for k in _QUANTISED & text.keys() - data.keys()}
        found = quant.read({**data, **inner}, model.dtype, where, sidecar)
        return model if found is None else quantised(model, found)
    except UnsupportedError as error:
        # Its shapes are known all the same: in formats that somebody names it can be counted.
        return model.altered(scheme=Unread(str(error)))


_QUANTISED = {"quantization_config", "compression_config", "quantization", "quantize"}


def _text(data: dict[str, Any]) -> dict[str, Any]:
    from .families import multimodal

    return multimodal.text_of(data)


def quantised(model: Model, found: Quantised) -> Model:
    """The model stored as a quantisation config says.

    Raises:
        UnsupportedError: its lists name some experts of a layer and not the others.
    """
    from . import quant

    if found.experts:
        copies = {
            quant.canonical(f"model.layers.{i}.{m.path}"): m.copies
            for layer in model.layers
            for i in layer.indices
            for part in layer.parts
            for m in part.linears()
            if m.copies > 1
        }
        for pattern, named in found.experts:
            all_of_them = copies.get(pattern, named)
            if named < all_of_them:
                raise UnsupportedError(
                    f"{model.name}: {pattern}: {named} of {all_of_them} experts are stored "
                    "differently; experts of one layer are counted in one format"
                )
    drafter = model.drafter
    if drafter is not None:
        beyond = quant.Beyond(found.scheme, model.depth)
        drafter = drafter.altered(scheme=beyond, kv=found.kv or drafter.kv)
    return model.altered(
        scheme=found.scheme,
        drafter=drafter,
        kv=found.kv or model.kv,
        notes=(*model.notes, *found.notes),
    )
