"""Finds a judge's weights, in a folder, a GGUF file or on the Hub, before anything is loaded."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from halluscope.errors import JudgeUnavailable
from halluscope.files.opening import read_json
from halluscope.network import hub_or_cache
from halluscope.paths import is_there, path_of
from halluscope.sanitize import one_line, short_repr

# The commit of the Hub at which each of the default models is pinned
REVISIONS = {
    "google/flan-t5-base": "7bcac572ce56db69c1ea7c8af255c5d7c9672fc2",
    "google/flan-t5-large": "0613663d0d48ea86ba8cb3d7a44f0f65dc596a2a",
    "google/flan-t5-xl": "7d6315df2c2fb742f0f5b556879d730926ca9001",
}

SUFFIXES = (".safetensors", ".bin", ".gguf")
# Patterns of the files that describe a model, without its weights
DESCRIBING = ("*.json", "*.model", "*.jinja", "*.txt")

_EMBEDDED = "The judge 'lexical' needs no model."


@dataclass(frozen=True)
class Weights:
    """A model that is on this machine or can be fetched."""

    source: str  # the folder that transformers loads
    name: str  # the model's name in a signature; never a path
    revision: str  # the Hub's commit, or 12 hexadecimal digits of the files' sha256
    gguf_file: str | None = None  # the file inside the folder, for GGUF weights
    is_encoder_decoder: bool = False  # whether an encoder reads the prompt, as in T5

    @property
    def key(self) -> str:
        return f"{self.name}@{self.revision[:12]}"

    @property
    def load_options(self) -> dict[str, Any]:
        """The options for `from_pretrained`, apart from the source. Code that comes with a model is never run."""
        options: dict[str, Any] = {"trust_remote_code": False}
        if self.gguf_file:
            options["gguf_file"] = self.gguf_file
        return options


def find(model: str) -> Weights:
    """Find a model by folder, GGUF file, or Hub id ("org/name", or "org/name@revision")."""
    check_name(model)
    if not is_there(model):
        name, revision = _name_and_revision(model)
        return _on_hub(name, revision)
    path = path_of(model)
    if path.is_file():
        return Weights(str(path.parent), path.stem, _digest([path]), gguf_file=path.name)
    return _folder(path)


def are_in(folder: Path) -> bool:
    """Whether a folder holds a file of weights."""
    return any(file.suffix in SUFFIXES for file in folder.iterdir())


def described(model: str) -> Weights:
    """Fetch the files that describe a model on the Hub, without its weights, by "org/name" or "org/name@revision"."""
    check_name(model)
    name, revision = _name_and_revision(model)
    try:
        folder = _fetched(name, revision)
    except Exception as error:
        raise JudgeUnavailable(
            f"The judge {short_repr(name)} is neither on this machine nor can it be downloaded "
            f"({type(error).__name__}). Copy the model's whole folder here, and name the folder."
        ) from error
    config = folder / "config.json"
    return Weights(str(folder), name, folder.name, is_encoder_decoder=config.is_file() and encodes(config))


def check_name(model: str) -> None:
    """Check that a model's name can be one, before anything is fetched."""
    path = path_of(model)
    if is_there(model) and (path.is_dir() or path.suffix == ".gguf"):
        return
    if path.is_absolute() or model.startswith((".", "~")) or model.count("/") != 1:
        raise JudgeUnavailable(
            f"There is no judge {short_repr(model)}: it is neither a folder, nor a .gguf file, nor a Hub id "
            f"(org/name), nor one of 'flan-t5' and 'lexical'. {_EMBEDDED}"
        )


def _folder(path: Path, revision: str | None = None) -> Weights:
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not any(file.suffix in SUFFIXES for file in files):
        names = ", ".join(one_line(file.name) for file in files[:8])
        raise JudgeUnavailable(
            f"The folder of the judge {path.name!r} holds no weights: expected a file that ends in "
            f"{', '.join(SUFFIXES)}; found {names or 'nothing'}. "
            "Copy the model's whole folder, as save_pretrained or a download from the Hub leaves it."
        )
    config = path / "config.json"
    if not config.is_file():
        raise JudgeUnavailable(
            f"The folder of the judge {path.name!r} holds no config.json; copy the whole folder."
        )
    if revision is None:
        suffixes = set(SUFFIXES).union(pattern.removeprefix("*") for pattern in DESCRIBING)
        revision = _digest([file for file in files if file.suffix in suffixes])
    return Weights(str(path), path.resolve().name, revision, is_encoder_decoder=encodes(config))


def _name_and_revision(model: str) -> tuple[str, str]:
    """Return what a Hub id names: the model, and the revision, by default the pinned one if there is one."""
    name, _, revision = model.partition("@")
    return name, revision or REVISIONS.get(name, "main")


def _on_hub(name: str, revision: str) -> Weights:
    """Fetch the whole model now, so that a missing judge is found before hours are spent on asking the others."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        for ending in SUFFIXES[:2]:
            folder = _fetched(name, revision, f"*{ending}")
            if any(folder.glob(f"*{ending}")):
                return replace(_folder(folder, revision=folder.name), name=name)
        reason = "it has no weights in a form that transformers reads"
    except LocalEntryNotFoundError:
        reason = "the Hub cannot be reached"
    except Exception as error:
        lines = str(error).splitlines() or ["no reason given"]
        reason = f"{type(error).__name__}: {lines[0]}"
    folder_name = name.split("/")[1]
    raise JudgeUnavailable(
        f"The judge {name!r} (revision {revision}) is neither on this machine nor can it be downloaded ({reason}). "
        f"On a networked machine, run `hf download {name} --revision {revision} --local-dir {folder_name}`, "
        f"copy the folder here and name it as the judge: ./{folder_name}. {_EMBEDDED}"
    )


def _fetched(name: str, revision: str, weights: str | None = None) -> Path:
    """Return the folder of a model's files on the Hub: those that describe it, and weights by their pattern."""
    from huggingface_hub import snapshot_download

    patterns = list(DESCRIBING)
    if weights:
        patterns.append(weights)
    with hub_or_cache():
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns))


def encodes(config: Path) -> bool:
    """Whether a configuration is that of an encoder-decoder."""
    try:
        content = read_json(config)
        if not isinstance(content, dict):
            raise ValueError(f"it holds {short_repr(content)}; expected an object.")
    except (ValueError, OSError) as error:
        raise JudgeUnavailable(
            f"The judge's {config.name} is not a configuration in JSON: {error} Copy the model's whole folder."
        ) from error
    return bool(content.get("is_encoder_decoder", False))


def _digest(files: list[Path]) -> str:
    """Return 12 hexadecimal digits of the sha256 of names and contents."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(f"{path.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\0".encode())
    return digest.hexdigest()[:12]
