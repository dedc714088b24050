"""The tiny T5 as a judge, and a real server on loopback.

The server is `transformers serve`. It needs only three small packages in addition to torch and transformers, while
llama-cpp-python[server] has no wheel and compiles for minutes. The model is SmolLM2.
"""

import copy
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from halluscope.judging.models import weights
from halluscope.judging.models.engine import Seq2SeqJudge


@pytest.fixture(scope="session")
def t5(tiny_t5, one_thread) -> Seq2SeqJudge:
    """The tiny T5 as a judge, loaded."""
    judge = Seq2SeqJudge(weights.find(str(tiny_t5)), device="cpu")
    judge.load()
    return judge


@pytest.fixture
def throne_files(tmp_path):
    """Write texts and what is in their images as a file; return the words that name it as responses and dataset."""

    def write(texts, objects) -> list[str]:
        rows = ({"image_id": i, "response": text, "objects": objects[i]} for i, text in enumerate(texts))
        file = tmp_path / "rows.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)))
        return ["throne", "--responses", str(file), "--dataset", str(file)]

    return write


@pytest.fixture(scope="session")
def smollm2_folder(smollm2, tmp_path_factory) -> Path:
    """SmolLM2 as a folder: `transformers serve` loads no GGUF file whose configuration names no architecture."""
    folder = tmp_path_factory.mktemp("smollm2") / "smollm2"
    config = copy.deepcopy(smollm2._model.config)
    del config.quantization_config  # what was read from the file is float32 by now
    model = type(smollm2._model)(config)
    model.load_state_dict(smollm2._model.state_dict())
    model.generation_config = smollm2._model.generation_config
    model.save_pretrained(folder)
    smollm2._tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def real_server(smollm2_folder, tmp_path_factory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    program = "from transformers.cli.transformers import main; main()"
    options = [
        "serve",
        str(smollm2_folder),
        "--device=cpu",
        "--dtype=float32",
        "--host=127.0.0.1",
        f"--port={port}",
    ]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *options],
            stdout=file,
            stderr=file,
            env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )
    try:
        for _ in range(1800):
            if process.poll() is not None:
                pytest.fail(f"transformers serve ended: {log.read_text()[-2000:]}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()
