"""Lets transformers load a model from a GGUF file in a quarter of the time.

Transformers reads the whole file once for each part of a model: twice for its configuration, for its tokenizer and for
its weights. It also makes the table of all tensors' names once for each of the model's modules, hundreds of times. And
the package gguf cuts the file into a million pieces of a mapped array, ten times as slow as those of a plain array. The
pieces and the names are the same whoever asks for them, so here they are made once for a load.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

# Loads that run at once take turns, because they share the package gguf
_LOADING = threading.RLock()


@contextmanager
def read_once() -> Iterator[None]:
    """Let whoever asks the package gguf inside this context read each file once, and make each table of names once.

    Without the package nothing happens here: transformers says what is missing.
    """
    if find_spec("gguf") is None:
        yield
        return
    gguf: Any = import_module("gguf")
    with _LOADING:
        reader = gguf.GGUFReader
        name_map = gguf.get_tensor_name_map
        gguf.GGUFReader = cache(_plain(reader))
        gguf.get_tensor_name_map = cache(name_map)
        try:
            yield
        finally:
            gguf.GGUFReader = reader
            gguf.get_tensor_name_map = name_map


def _plain(reader: Any) -> Any:
    """Return the reader of GGUF files that takes a mapped file for a plain array."""

    class PlainReader(reader):  # type: ignore[misc]
        @property
        def data(self) -> Any:
            return self._data

        @data.setter
        def data(self, mapped: Any) -> None:
            self._data = mapped.view(np.ndarray)

    return PlainReader
