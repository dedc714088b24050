"""The tasks run by the command `inspect eval`, with a model behind a server on loopback: `make inspect`.

It runs in an environment with only Inspect and this package, without torch. It fails if a score in Inspect's log
differs from the one that `halluscope score` computes from the log, or if a question was sent without its image.
"""

import json
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from zlib import crc32

from inspect_ai.log import read_eval_log

from halluscope import registry
from halluscope.benchmark import SIGNATURE
from tests.harness import data as harness_data
from tests.harness.check_lmms_eval import said, same
from tests.scripted_server import Said, ScriptedServer, reply

SAYS = ("Yes, there is a dog.", "No.", "A person holds a cup, no dog.", "I cannot tell.")


def main() -> int:
    """Run the check, and return the exit status."""
    server = ScriptedServer(answer)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data = harness_data.build_all(folder / "data")
        os.environ |= harness_data.environment(data) | {
            "HALLUSCOPE_STORE": str(folder / "answers.sqlite"),
            "SCRIPTED_BASE_URL": server.url,
            "SCRIPTED_API_KEY": "none",
        }
        tasks = [f"halluscope/{name}" for name in harness_data.TASKS]
        options = f"--model openai-api/scripted/model --display none --log-dir {folder / 'logs'}"
        said("inspect_ai", "eval", *tasks, *options.split())
        wrong = [line for name in harness_data.TASKS for line in differences(name, folder)]
    wrong += [f"{len(pictureless(server))} questions came without an image"] if pictureless(server) else []
    server.close()
    print("\n".join(wrong) or f"Inspect: {len(harness_data.TASKS)} tasks score as `halluscope score` does.")
    return 1 if wrong else 0


def answer(prompt: Any, count: int, body: dict[str, Any]) -> Said:
    """Always the same to a prompt with its image, but to another."""
    return reply(SAYS[crc32(json.dumps(prompt).encode()) % len(SAYS)])


def pictureless(server: ScriptedServer) -> list[Any]:
    """Return the questions sent without an image; no task here has any."""
    asked = [body["messages"][0]["content"] for body in server.bodies]
    return [content for content in asked if [part["type"] for part in content] != ["image_url", "text"]]


def differences(name: str, folder: Path) -> list[str]:
    """Return scores that differ from those of `halluscope score` on the log."""
    (file,) = (folder / "logs").glob(f"*_{name.replace('_', '-')}_*.eval")
    results = read_eval_log(str(file), header_only=True).results
    assert results and results.early_stopping
    figures: dict[str, Any] = {key: metric.value for key, metric in results.scores[0].metrics.items()}
    figures[SIGNATURE] = harness_data.as_scored(name, str(results.early_stopping.metadata[SIGNATURE]))
    command = harness_data.score_command(folder / "data", name, "--responses", str(file))
    printed, _ = said("halluscope", *command, "--json", "--bootstrap", "0")
    (ours,) = json.loads(printed)
    scores = (*registry.benchmark(name).scores, SIGNATURE)
    missing = [score for score in scores if score not in figures]
    return [f"{name}: {score} is missing" for score in missing] + [
        f"{name}: {score} is {figures[score]} in Inspect and {ours.get(score, math.nan)} from its log"
        for score in scores
        if score in figures and not same(figures[score], ours.get(score))
    ]


if __name__ == "__main__":
    sys.exit(main())
