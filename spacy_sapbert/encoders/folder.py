"""Read and write encoder folders: Hugging Face files, our settings, and the files of sentence-transformers.

The folder also loads with `AutoModel.from_pretrained` and with `SentenceTransformer`.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

from .. import starter
from ..errors import CannotWriteError, DamagedError, Errors, MismatchError, SapbertError, requiring
from ..files.output import replaced_folder, replacing_folder
from ..files.values import check_not_newer, parse_json
from ..store.artifact import ENCODER_FOLDER, saved_artifacts
from ..text.normalize import TEXT_NORMALIZERS
from .additions import (
    get_projection,
    has_adapter,
    load_adapter,
    load_projection,
    save_adapter,
    save_projection,
    set_projection,
)
from .ngrams import NGRAMS_FOLDER, LexicalModel

STARTER = "starter"
"""The name of the encoder in the package: a table of sub-word vectors."""
TRANSFORMER = "starter-transformer"
"""The name of the small transformer in the package."""
MULTILINGUAL, MULTILINGUAL_PACKAGE = "starter-multilingual", "spacy_sapbert_multilingual"
"""The name of the table for several languages, and of the package that holds it."""
_IN_PACKAGE = {STARTER: starter.TABLE, TRANSFORMER: starter.TRANSFORMER}

SETTINGS_FILE = "spacy_sapbert.json"
FORMAT = 1  # of this file, and of the files of ours that it names; 1 if the file has no number
CONFIG_FILE = "config.json"
MODULES_FILE = "modules.json"
POOLING_FILE = "1_Pooling/config.json"
ADAPTER_FOLDER = "adapter"
PROJECTION_FOLDER = "2_Dense"  # the name that sentence-transformers uses
POOLER = "pooler."
"""The prefix of weights that do not affect the vectors."""
STATIC = "static"
"""The settings of a table of sub-word vectors, and whether an encoder is one."""
TABLE_FILE = "table.safetensors"
WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json")

# what a config may say, so that making the model ends
_POSSIBLE = {"num_hidden_layers": (0, 1000), "num_attention_heads": (1, 10_000)}
_SHOWN = 200  # characters of a wrong name
_PATIENCE, _REMEMBERED = 5.0, 60  # seconds to wait for the hub, and to remember whether it answered
_POOLING_MODES = {"cls": "cls_token", "mean": "mean_tokens"}  # the names that sentence-transformers uses
_DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}  # the names that safetensors uses
_OTHER_MODES = ("max_tokens", "mean_sqrt_len_tokens")
_MODULES = {"1_Pooling": "Pooling", PROJECTION_FOLDER: "Dense", "2_Normalize": "Normalize"}
_LICENSES = ("LICEN[CS]E*", "NOTICE*")
_CARDS = ("README*", *_LICENSES)
_FOLDERS = (ADAPTER_FOLDER, NGRAMS_FOLDER, *_MODULES)
_PARTS = ("*.json", "*.safetensors", "*.bin", "*.model", "vocab.txt", "merges.txt", *_FOLDERS, *_CARDS)


def resolve(name: str) -> str:
    """Return where an encoder is.

    Returns:
        The folder in the package for the encoders in it, or that of the package with the table for several languages.
        For the folder of a saved pipeline, the folder of its encoder. Any other name is returned unchanged.
    """
    if name in _IN_PACKAGE:
        return str(_IN_PACKAGE[name])
    if name == MULTILINGUAL:
        return _installed_table()
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return name  # it may be on the hub
    except (OSError, ValueError) as error:  # a name that is too long, or has a zero
        reason = getattr(error, "strerror", None) or error
        raise SapbertError(Errors.E301.format(name=name[:_SHOWN], reason=reason)) from error
    saved = saved_artifacts(Path(name), ENCODER_FOLDER)
    if len(saved) > 1:
        reason = f"it has several encoders: {', '.join(map(str, saved))}"
        raise MismatchError("Give the folder of one of them.", path=name, reason=reason)
    return str(saved[0]) if saved else name


def _installed_table() -> str:
    try:
        return next(iter(import_module(MULTILINGUAL_PACKAGE).__path__))
    except ImportError as error:
        reason = f"its package {MULTILINGUAL_PACKAGE} is not installed; `spacy project run multilingual` makes it"
        raise SapbertError(Errors.E301.format(name=MULTILINGUAL, reason=reason)) from error


def read_settings(name: str) -> dict[str, Any]:
    """Read the settings of an encoder: pooling, length, normal form and vectors.

    They come from our own file or from that of sentence-transformers. The latter only provides the pooling: vectors are
    usually compared by cosines even without a Normalize module.

    Returns:
        The settings that the files contain. Empty if they contain none, or do not exist.
    """
    try:
        settings: dict[str, Any] = _read_json(_find(name, SETTINGS_FILE), {})
        check_not_newer(name, settings.pop("format", FORMAT), FORMAT)
        if settings or not (pooling := _find(name, POOLING_FILE)):
            return settings
        return {"pooling": _pooling(_read_json(pooling, {}), _read_json(_find(name, MODULES_FILE), []))}
    except SapbertError:
        raise
    except (ValueError, OverflowError, TypeError, AttributeError, KeyError) as error:
        raise SapbertError(Errors.E302.format(path=name, reason=error)) from error


def _find(name: str, file: str) -> Path | None:
    """Return an optional file of an encoder, or None."""
    if Path(name).exists():
        return own if (own := Path(name) / file).is_file() else None
    from huggingface_hub import try_to_load_from_cache
    from transformers.utils import cached_file

    try:
        cached = try_to_load_from_cache(name, file)  # asking the hub is slow without a network
        path = cached_file(name, file, local_files_only=_is_local(name)) if cached is None else cached
    except (OSError, ValueError):  # no such file, or no such model, which loading the model reports
        return None
    return Path(path) if isinstance(path, str) else None


def read_lexical_model(name: str, settings: Mapping[str, Any]) -> LexicalModel | None:
    """Read the lexical model of an encoder, if its settings list one."""
    if "ngrams" not in settings:
        return None
    if not Path(name).is_dir():
        reason = "it has its own n-grams; download the repository and use its folder"
        raise SapbertError(Errors.E302.format(path=name, reason=reason))
    return LexicalModel.load(Path(name))


def read_licences(folder: Path) -> dict[str, bytes]:
    """Return the license files of a folder by name. They must stay with the weights."""
    return {path.name: path.read_bytes() for pattern in _LICENSES for path in sorted(folder.glob(pattern))}


def _read_json(path: Path | None, default: Any) -> Any:
    return parse_json(path.read_text(encoding="utf-8")) if path else default


def _pooling(config: Mapping[str, Any], modules: list[dict[str, str]]) -> str:
    """Return "cls" or "mean", or else the names of all pooling modes and further modules."""
    ours = {mode: pooling for pooling, mode in _POOLING_MODES.items()}
    if "pooling_mode" in config:  # since sentence-transformers 6; older versions have one switch per mode
        named = config["pooling_mode"]
        modes = [named] if isinstance(named, str) else list(named)
    else:
        switches = [key for key, on in config.items() if key.startswith("pooling_mode_") and on]
        modes = [ours.get(mode, mode) for mode in (key.removeprefix("pooling_mode_") for key in switches)]
    kinds = (module["type"].rpartition(".")[2] for module in modules)
    return ", ".join([*modes, *(kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize"))])


def load_tokenizer(name: str) -> Any:
    """Load the tokenizer of a folder or hub name."""
    with requiring("encoders", f"The encoder {name}"):
        from transformers import AutoTokenizer

    return _load(name, lambda options: AutoTokenizer.from_pretrained(name, **options))


def load_model(name: str, *, adapter: bool = False, projection: bool = False) -> Any:
    """Load the model of a folder or hub name in float32. A CPU computes half precision slowly and less exactly.

    Args:
        adapter: Whether the folder has an adapter.
        projection: Whether the folder has a projection.

    Returns:
        The model of transformers.
    """
    with requiring("encoders", f"The encoder {name}"):
        import torch
        import transformers

    # transformers 5 deprecates `torch_dtype`; versions before 4.56 do not know `dtype`
    dtype = {"torch_dtype" if transformers.__version__.startswith("4.") else "dtype": torch.float32}

    def load(options: dict[str, bool]) -> Any:
        if Path(name).is_dir():
            _check_size(Path(name))
        model, info = transformers.AutoModel.from_pretrained(name, output_loading_info=True, **dtype, **options)
        missing = sorted(info["missing_keys"])
        others = [weights for weights in missing if not weights.startswith(POOLER)]
        if others:  # transformers would initialize them randomly
            raise ValueError(f"the weights of {others[0]} are missing")
        if missing:  # a pooler without weights is random, and the vectors do not need it
            model.pooler = None
        if (adapter or projection) and not Path(name).is_dir():
            raise ValueError("it has an adapter or a projection; download the repository and use its folder")
        if adapter:
            load_adapter(model, Path(name) / ADAPTER_FOLDER)
        if projection:
            set_projection(model, load_projection(Path(name) / PROJECTION_FOLDER))
        return model

    return _load(name, load)


def _check_size(folder: Path) -> None:
    """Check that a config fits its weights, before memory is taken for what it describes."""
    import torch
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    for key, (least, most) in _POSSIBLE.items():
        value = getattr(config, key, least)
        if isinstance(value, int) and not least <= value <= most:
            raise ValueError(f"{key} in {CONFIG_FILE} is {value}")
    with torch.device("meta"):  # without memory
        n = sum(weights.numel() for weights in AutoModel.from_config(config).parameters())
    size = sum(path.stat().st_size for pattern in ("*.safetensors", "*.bin") for path in folder.glob(pattern))
    if n > 2 * size:  # a byte for a weight is the least; a pooler may be missing
        raise ValueError(f"{CONFIG_FILE} describes {n:,} weights, but the files of the weights have {size:,} bytes")


def local_folder(name: str) -> Path:
    """Return the folder of a loaded encoder. For a hub name it is in the cache."""
    if Path(name).is_dir():
        return Path(name)
    from transformers.utils import cached_file

    return Path(cached_file(name, CONFIG_FILE, local_files_only=True)).parent


def stored_dtype(name: str) -> str:
    """Return the type in which the weights of an encoder are stored, such as "float16"."""
    from safetensors import safe_open

    for path in sorted(local_folder(name).glob("model*.safetensors")):
        with safe_open(path, framework="numpy") as weights:
            kinds = {str(weights.get_slice(key).get_dtype()) for key in weights.keys()}  # noqa: SIM118
        if floats := kinds.intersection(_DTYPES):
            return _DTYPES[floats.pop()] if len(floats) == 1 else "float32"
    return "float32"


def _load(name: str, load: Callable[[dict[str, bool]], Any]) -> Any:
    folder = Path(name)
    is_folder = folder.is_dir()
    if folder.is_file():  # otherwise transformers would ask the hub again and again
        raise SapbertError(Errors.E301.format(name=name, reason="it is a file"))
    if not is_folder and replaced_folder(folder).is_dir():
        reason = f"replacing it was interrupted; the previous encoder is in {replaced_folder(folder)}"
        raise DamagedError("Rename that folder, or write the encoder again.", path=folder, reason=reason)
    if (folder / TABLE_FILE).is_file():
        reason = "it is a table of sub-word vectors, and a transformer is needed"
        raise MismatchError(f"Choose another encoder, such as {TRANSFORMER!r}.", path=folder, reason=reason)
    if is_folder and not any((folder / file).is_file() for file in WEIGHT_FILES):
        raise SapbertError(Errors.E302.format(path=name, reason=f"it has none of {', '.join(WEIGHT_FILES)}"))
    with reading_folder(name):
        return load({"local_files_only": _is_local(name), "trust_remote_code": False})


def _is_local(name: str) -> bool:
    """Return whether the files of an encoder can only be on this machine: in a folder, or in the cache of the hub."""
    return Path(name).is_dir() or not _hub_answers(int(monotonic()) // _REMEMBERED)


@lru_cache(maxsize=1)
def _hub_answers(minute: int) -> bool:
    """Return whether the hub answers one question. Its own client repeats each of its questions for half a minute."""
    import requests
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        requests.head(constants.ENDPOINT, timeout=_PATIENCE)
    except requests.exceptions.SSLError:
        return True  # its client may have other certificates
    except requests.RequestException:
        return False
    return True


@contextmanager
def reading_folder(name: str) -> Iterator[None]:
    """Turn any error of a block that reads an encoder into a coded one."""
    try:
        yield
    except SapbertError:
        raise
    except Exception as error:  # transformers, safetensors and tokenizers raise many kinds of errors
        code = Errors.E302.format(path=name, reason=error)
        if not Path(name).is_dir():
            code = Errors.E301.format(name=name, reason=error)
        raise SapbertError(code) from error


def write_folder(
    folder: Path,
    model: Any,
    tokenizer: Any,
    dtype: str,
    settings: Mapping[str, Any],
    licences: Mapping[str, bytes],
    lexical_model: LexicalModel | None = None,
) -> None:
    """Write all parts of an encoder. An existing folder is replaced when the new one is complete.

    Args:
        dtype: The type in which the weights are stored, such as "float16".
        settings: At least pooling, max_length, text_normalizer and l2_normalized.
        licences: The license files of the original encoder, from `read_licences`.
        lexical_model: The lexical model that belongs to the encoder.
    """
    with replacing_encoder(folder) as new:
        _save_model(model, dtype, new)
        tokenizer.save_pretrained(new)
        parts = {"adapter": ADAPTER_FOLDER} if has_adapter(model) else {}
        if get_projection(model) is not None:
            parts["projection"] = PROJECTION_FOLDER
        if lexical_model:
            lexical_model.save(new)
            parts["ngrams"] = NGRAMS_FOLDER
        write_json(new / SETTINGS_FILE, {"format": FORMAT, **settings, **parts})
        for name, content in licences.items():
            (new / name).write_bytes(content)
        _write_for_sentence_transformers(new, model, settings)


def _save_model(model: Any, dtype: str, folder: Path) -> None:
    import torch

    stored = getattr(torch, dtype)
    if model.dtype != stored:
        model = copy.deepcopy(model).to(stored)
    projection = get_projection(model)
    if has_adapter(model):
        save_adapter(model, folder / ADAPTER_FOLDER)
    if projection is not None:
        save_projection(projection, folder / PROJECTION_FOLDER)
    if has_adapter(model) or projection is not None:
        model.save_pretrained(folder, state_dict=_without_additions(model))
    else:
        model.save_pretrained(folder)
    config = _read_json(folder / CONFIG_FILE, {})
    config.pop("adapters", None)
    # the type to compute in: transformers 5 loads the weights in the type of the config
    config.update({key: "float32" for key in ("torch_dtype", "dtype") if key in config})
    write_json(folder / CONFIG_FILE, config)
    for weights in folder.rglob("*.safetensors"):  # safetensors makes them readable by the owner only
        weights.chmod((folder / CONFIG_FILE).stat().st_mode)


def _without_additions(model: Any) -> dict[str, Any]:
    """Return the weights of the model alone, so that it loads without adapter and projection."""
    import torch
    from transformers import AutoModel

    with torch.device("meta"):
        plain = AutoModel.from_config(model.config).state_dict()
    return {key: weights for key, weights in model.state_dict().items() if key in plain}


def _write_for_sentence_transformers(folder: Path, model: Any, settings: Mapping[str, Any]) -> None:
    """Write the files of the first versions of sentence-transformers. All later versions read them."""
    dim = int(model.config.hidden_size)
    chosen = _POOLING_MODES[settings["pooling"]]
    pooling = {f"pooling_mode_{mode}": mode == chosen for mode in (*_POOLING_MODES.values(), *_OTHER_MODES)}
    has = {"Pooling": True, "Dense": get_projection(model) is not None, "Normalize": settings["l2_normalized"]}
    modules = [("", "Transformer"), *((path, kind) for path, kind in _MODULES.items() if has[kind])]
    content: dict[str, Any] = {
        MODULES_FILE: [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (path, kind) in enumerate(modules)
        ],
        POOLING_FILE: {"word_embedding_dimension": dim, **pooling},
        "sentence_bert_config.json": {
            "max_seq_length": settings["max_length"],
            "do_lower_case": TEXT_NORMALIZERS[settings["text_normalizer"]]("A") == "a",
        },
    }
    (folder / POOLING_FILE).parent.mkdir()
    for name, value in content.items():
        write_json(folder / name, value)


def write_json(path: Path, content: Any) -> None:
    """Write JSON that people can read."""
    path.write_text(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


@contextmanager
def replacing_encoder(folder: Path) -> Iterator[Path]:
    """Write a new folder in place of another one, whose model card and licenses stay.

    If the process is killed while the folders are renamed, loading reports where the old folder is.
    """
    from safetensors import SafetensorError

    try:
        cards = _cards_to_keep(folder)
        with replacing_folder(folder) as new:
            yield new
            for card in cards:
                shutil.copyfile(card, new / card.name)
    except (OSError, SafetensorError) as error:
        raise CannotWriteError(path=folder, reason=error) from error


def _cards_to_keep(folder: Path) -> list[Path]:
    entries = sorted(folder.iterdir()) if folder.exists() else []
    foreign = [entry.name for entry in entries if not any(entry.match(part) for part in _PARTS)]
    if foreign:
        reason = f"the folder contains {foreign[0]}, which is not part of an encoder"
        raise CannotWriteError("Choose another folder, or empty this one.", path=folder, reason=reason)
    return [entry for entry in entries if any(entry.match(card) for card in _CARDS)]
