"""The README of a benchmark's tasks, made from its record, in the form that lm-eval asks of those who add tasks."""

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from halluscope.harness.functions import CLUSTERED, averaged
from halluscope.registry import HIGHER, LOWER, Benchmark

_TITLE = re.compile(r"\btitle\s*=\s*\{(.*?)\},?\s*\n\s*\w+\s*=", re.DOTALL)

_BETTER = {HIGHER: "higher", LOWER: "lower", None: "neither"}


def text(harness: str, benchmark: Benchmark, tag: str, tasks: Mapping[str, tuple[str, str]]) -> str:
    """A README.

    Args:
        harness: "lm_eval" or "lmms_eval".
        benchmark: whose tasks these are.
        tag: what stands for all of them.
        tasks: what each is called -> the name of its dataset, and of its prompt ("" for the benchmark's own).
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
    """The paper's title, as its BibTeX has it."""
    found = _TITLE.search(benchmark.citation)
    return " ".join(re.sub(r"[{}]", "", found[1]).split()) if found else benchmark.title


def _asked(benchmark: Benchmark, dataset: str, prompt: str) -> str:
    """What a task asks."""
    if prompt:
        return f"the same, asked with {benchmark.prompts[prompt]!r}."
    return f"`{dataset}` (`halluscope build {dataset}`), asked with {benchmark.prompt!r}; the main variant."


def _scores(benchmark: Benchmark) -> list[str]:
    """A row of the table for each score."""
    what = dict.fromkeys(benchmark.scores, "of the whole set")
    what |= dict.fromkeys(benchmark.means, "mean over documents")
    return [f"| `{name}` | {_BETTER[benchmark.scores[name]]} | {kind} |" for name, kind in what.items()]


def _errors(means: tuple[str, ...], independent: tuple[str, ...]) -> str:
    """Which standard errors there are, and what they take for independent."""
    whole = "A score of the whole set has no standard error."
    if not means:
        return whole
    clustered = (
        f"`<score>{CLUSTERED}` is the standard error of a mean where documents about one image, or of one set,\n"
        "depend on each other (Miller, 2024, arXiv:2411.00640, equation 4)."
    )
    if independent:
        clustered += " What lm-eval puts behind ± takes them for independent."
    return f"{clustered}\n{whole}"


def _judge(benchmark: Benchmark) -> str:
    """Who judges."""
    if not benchmark.judges:
        return ""
    option, rule = benchmark.judges.option, benchmark.judges.rule
    if not rule:
        return (
            f"\nA language model judges, and none is loaded unless `{option}` names it. Otherwise the answers are\n"
            "kept, and the log has the command that scores them.\n"
        )
    return f"\nThe judge is `{rule}`, which asks no language model, unless `{option}` names another.\n"
