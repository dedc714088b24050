"""Makes the README of a benchmark's tasks from its record, in the form that lm-eval requires for new tasks."""

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from halluscope.harness.functions import CLUSTERED, averaged
from halluscope.registry import HIGHER, LOWER, Benchmark

_TITLE = re.compile(r"\btitle\s*=\s*\{(.*?)\},?\s*\n\s*\w+\s*=", re.DOTALL)

_BETTER = {HIGHER: "higher", LOWER: "lower", None: "neither"}


def text(harness: str, benchmark: Benchmark, tag: str, tasks: Mapping[str, tuple[str, str]]) -> str:
    """Make a README.

    Args:
        harness: "lm_eval" or "lmms_eval".
        benchmark: the tasks' benchmark.
        tag: the tag that runs all tasks.
        tasks: task -> the names of its dataset and of its prompt ("" for the benchmark's own prompt).
    """
    form = Template((Path(__file__).parent / "readme.md").read_text(encoding="utf-8"))
    return form.substitute(
        title=benchmark.title,
        name=benchmark.name,
        paper=_paper(benchmark),
        description=benchmark.description.strip(),
        links="\n".join(f"- {link}" for link in benchmark.links),
        licence=benchmark.licence,
        citation=benchmark.citation.strip(),
        tag=tag,
        tasks="\n".join(f"* `{name}`: {_asked(benchmark, *of)}" for name, of in tasks.items()),
        scores="\n".join(_scores(benchmark)),
        errors=_errors(benchmark.means, averaged(benchmark) if harness == "lm_eval" else ()),
        judge=_judge(benchmark),
        compared="x" if benchmark.compared else " ",
        how=f"\n    {benchmark.compared}" if benchmark.compared else "",
        varied="x" if benchmark.prompts else " ",
    )


def _paper(benchmark: Benchmark) -> str:
    """Return the paper's title from its BibTeX."""
    found = _TITLE.search(benchmark.citation)
    return " ".join(re.sub(r"[{}]", "", found[1]).split()) if found else benchmark.title


def _asked(benchmark: Benchmark, dataset: str, prompt: str) -> str:
    """Describe what a task asks."""
    if prompt:
        return f"the same dataset, asked with {benchmark.prompts[prompt]!r}."
    return f"`{dataset}` (`halluscope build {dataset}`), asked with {benchmark.prompt!r}; this is the main variant."


def _scores(benchmark: Benchmark) -> list[str]:
    """Return a row of the table for each score."""
    what = dict.fromkeys(benchmark.scores, "of the whole set")
    what |= dict.fromkeys(benchmark.means, "mean over documents")
    return [f"| `{name}` | {_BETTER[benchmark.scores[name]]} | {kind} |" for name, kind in what.items()]


def _errors(means: tuple[str, ...], independent: tuple[str, ...]) -> str:
    """Say which scores have standard errors, and what these assume to be independent."""
    whole = "A score of the whole set has no standard error."
    if not means:
        return whole
    clustered = (
        f"`<score>{CLUSTERED}` is the standard error of a mean where documents about one image, or of one set,\n"
        "depend on each other (Miller, 2024, arXiv:2411.00640, equation 4)."
    )
    if independent:
        clustered += " The number that lm-eval shows after ± assumes that documents are independent."
    return f"{clustered}\n{whole}"


def _judge(benchmark: Benchmark) -> str:
    """Say which judge is used."""
    if not benchmark.judges:
        return ""
    option, rule = benchmark.judges.option, benchmark.judges.rule
    if not rule:
        return (
            f"\nThe judge is a language model, which is loaded only if `{option}` names it. Otherwise the responses\n"
            "are kept, and the log has the command that scores them.\n"
        )
    return f"\nThe judge is `{rule}`, which uses no language model, unless `{option}` names another judge.\n"
