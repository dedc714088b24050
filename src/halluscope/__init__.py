"""halluscope: hallucination benchmarks for large vision-language models (LVLMs).

    >>> import halluscope
    >>> "pope" in halluscope.list_benchmarks()
    True

`import halluscope` is quick: a benchmark is loaded when it is first used, and torch and transformers are imported when
a language model is first asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halluscope.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halluscope.benchmark import Benchmark
    from halluscope.judging.judge import ChatJudge, Voter
    from halluscope.reporting.page.writing import Report
    from halluscope.reporting.printed import Printed

__all__ = [
    "__version__",
    "build",
    "compare",
    "get_benchmark",
    "list_benchmarks",
    "load_judge",
    "report",
    "score",
    "table",
    "verify",
]


def list_benchmarks() -> list[str]:
    """Return the names of all benchmarks; each is also the name of its metric."""
    from halluscope import registry

    return [benchmark.name for benchmark in registry.benchmarks()]


def get_benchmark(name: str) -> Benchmark:
    """Return a benchmark's record: its datasets, options, citation, scores, and whether higher or lower is better.

    Args:
        name: the name of the benchmark, or of one of its datasets, such as "throne" or "throne_coco".

    Raises:
        ValueError: if no benchmark has this name; the message suggests the nearest one.
    """
    from halluscope import registry

    return registry.benchmark(name)


def build(
    name: str,
    source: str | Path | None = None,
    *,
    images: str | Path | None = None,
    out: str | Path | None = None,
    **options: Any,
) -> Path:
    """Build a dataset from its upstream files, as `halluscope build` does.

    Args:
        name: the name of the dataset, such as "pope".
        source: the upstream file, or a folder that holds it; None downloads it.
        images: the folder or the zip of the images; None downloads them, or leaves out the column `image`.
        out: the folder to build; None is datasets/NAME under the working directory.
        options: the other options of the command, such as `force` and `subset` (`halluscope build NAME --help`).

    Returns:
        The dataset's folder, for `datasets.load_dataset`.

    Raises:
        ValueError: for an unknown name or option, or sources that are not the published ones, are not there, or
            cannot be downloaded; nothing is written then.
        OSError: if a source cannot be read, or the folder cannot be written.
    """
    from pathlib import Path

    from halluscope import registry
    from halluscope.paths import path_of
    from halluscope.validation import kind

    builder = registry.benchmark(name).builder(registry.dataset(name))
    paths = {"source", "images", "out", "cache"}
    paths.update(option.name for option in builder.options if option.type is path_of)
    options.update(source=source, images=images, out=out)
    chosen = {}
    for option, value in options.items():
        if value is None:
            continue
        if option in paths:
            kind(option, value, str | Path, "the name of a file or folder")
            value = path_of(value)
        chosen[option] = value
    folder: Path = builder.build(**chosen)
    return folder


def score(
    name: str,
    responses: Any,
    dataset: Any,
    *,
    out: str | Path | None = None,
    **options: Any,
) -> Printed:
    """Score what one LVLM said, or several, against a dataset.

    Args:
        name: the name of the benchmark, or of one of its datasets; a dataset's name also sets the options that belong
            to it.
        responses: a file (JSON lines, a JSON list or {id: text}, csv, tsv, Parquet, xlsx, .gz too, samples of lm-eval
            or lmms-eval, or a log of Inspect), "NAME=A,B,C" for a file in parts, rows with an id and a text, or texts
            in the dataset's order, or {id: text}; for several LVLMs {"A": ..., "B": ...} with one of these each.
        dataset: a folder (of `halluscope build` or `save_to_disk`), a Hub id, or an upstream file, written
            `name[:config][@split]`, or a loaded `datasets.Dataset`; a list if the benchmark has several files.
        out: a new folder that receives the run: scores, rows, votes and replies (`halluscope verify` checks it); None
            writes nothing.
        options: the options of the benchmark (`get_benchmark(name).help` lists them), and limit, partial, id_column,
            text_column. `bootstrap` is 5,000 unless given; 0 makes no intervals.

    Returns:
        A dict of the scores: fractions in [0, 1] unless the benchmark says otherwise, NaN where undefined; and
        "signature". For several LVLMs, such a dict by name. It prints as a table, and `.to_pandas()` gives a row per
        LVLM with all digits.

    Raises:
        ValueError: for an unknown name or option, or responses that do not belong to the dataset; raised before any
            judge is asked.
        FileNotFoundError: if a file does not exist.
        OSError: if `out` cannot be written.
    """
    from halluscope.runs import calls

    return calls.score(name, responses, dataset, out, options)


def compare(
    *runs: str | Path,
    scores: Sequence[str] = (),
    bootstrap: int = 5000,
    seed: int = 0,
    level: float = 0.95,
) -> Printed:
    """Compare runs on the rows that all of them have: is one LVLM better than another?

    Args:
        runs: folders that `score(..., out=...)` or `halluscope score ... --out` wrote, or folders of such folders.
        scores: the names of the scores to compare; by default the benchmark's principal score, or its first that
            is defined.
        bootstrap: 0 is refused, since a comparison needs intervals; other numbers make no difference.
        seed: makes no difference: nothing is drawn.
        level: the level of the intervals, and 1 minus the significance level.

    Returns:
        What `halluscope compare --json` prints (docs/runs.md), as a dict. It prints as a table, and `.to_pandas()`
        gives a row per difference.

    Raises:
        ValueError: for fewer than two runs, a run that was changed, or runs that share no rows or no such score.
    """
    from halluscope.runs import calls
    from halluscope.stats.bootstrap import Bootstrap

    return calls.compare(runs, scores, Bootstrap(bootstrap, seed, level))


def table(*runs: str | Path, preset: str = "", scores: Sequence[str] = ()) -> Printed:
    """Put runs of several benchmarks into one table, as papers print them.

    Args:
        runs: folders that `score(..., out=...)` or `halluscope score ... --out` wrote, or folders of such folders; a
            row per model, in this order.
        preset: "decoding" or "preference", what papers on decoding or on preference learning print; "" for each
            benchmark's principal score.
        scores: the scores to show instead, each as "benchmark/score".

    Returns:
        A dict: model -> the scores by "benchmark/score". It prints as a table; `.to_pandas()` gives a row per model.

    Raises:
        ValueError: for no runs, runs that cannot stand in one column (other images, prompts or options), two runs of
            one model and benchmark, or an unknown preset or score.
    """
    from halluscope.runs import table as tables

    return tables.table(runs, preset, scores)


def verify(*runs: str | Path) -> dict[str, list[str]]:
    """Check that runs are unchanged, and that their scores follow from their rows; no judge is asked.

    Args:
        runs: folders of runs, or folders of such folders.

    Returns:
        For each run's folder what differs; an empty list if all is well.

    Raises:
        ValueError: if no folder is named, or one holds no run.
    """
    from halluscope.runs import calls

    return {folder: list(found) for folder, found in calls.verify(runs).items()}


def report(
    result: Mapping[str, Any] | str | Path,
    predictions: Sequence[str] | None = None,
    references: Sequence[Any] | None = None,
    *,
    images: Sequence[Any] | None = None,
    name: str | None = None,
    **options: Any,
) -> Report:
    """Show what went wrong in responses that were scored: in a notebook, or as a page for a browser.

    Args:
        result: the folder of a run, or of several runs of one benchmark (`halluscope report` shows several benchmarks,
            and images), and nothing else; or what the metric's `compute` returned, with its table of rows
            (`per_image=True`, `per_question=True`).
        predictions: the responses that were passed to `compute`.
        references: the references that were passed to `compute`.
        images: an image (`PIL.Image`) per response, or None for a response without one.
        name: the name of the LVLM, "responses" unless you say another; a run has its own.
        options: options of `compute` that the report shows: `image_ids`, `questions`, `vocabulary`.

    Returns:
        A report, which a notebook shows at the end of a cell; `.save("report.html")` writes it.

    Raises:
        ValueError: if the result has another form, another number of rows than there are responses, or marks beyond
            the end of one, or if there is no such run. That they are the responses that were scored is not checked
            otherwise.
    """
    from pathlib import Path

    from halluscope.runs import page

    if isinstance(result, str | Path):
        others = (predictions, references, images, name)
        if options or any(other is not None for other in others):
            raise ValueError(
                f"report takes the run {str(result)!r} alone, which holds its responses and their name; for a result "
                "of compute, pass the result in its place."
            )
        return page.of_runs([result])
    if predictions is None or references is None:
        raise ValueError(
            "report takes a metric's result with its predictions and references, or the folder of a run."
        )
    if name is None:
        name = "responses"
    shown = page.shown_result(result, predictions, references, name, **options)
    return page.of_result(shown, images)


def load_judge(name: str, vocabulary: str | Sequence[str] = "coco") -> Voter | ChatJudge:
    """Find a judge, to ask it directly or to pass it to several benchmarks. Its model is not loaded yet.

    Args:
        name: the name of a voter, which says yes or no about a text ("lexical", "replay:FILE", or a model: a Hub id, a
            folder, a GGUF file); or of a grader behind an endpoint, which gives verdicts ("openai:MODEL@URL"). For a
            voter behind an endpoint, make a `halluscope.judging.endpoint.EndpointVoter`.
        vocabulary: the classes that the lexical voter knows.

    Raises:
        JudgeUnavailable: if the judge is unknown, has no weights, or cannot be used here.
        ValueError: for a name that stands for several judges; the message lists them.
    """
    from halluscope import vocabularies
    from halluscope.judging.client import ENDPOINT
    from halluscope.judging.options import VoteOptions
    from halluscope.judging.resolve import named, resolve, resolve_chat
    from halluscope.validation import kind

    kind("the judge's name", name, str, "a text, such as 'lexical'")
    if name.startswith(ENDPOINT):
        return resolve_chat(name)
    meant = named(name)
    if len(meant) > 1:
        raise ValueError(
            f"{name!r} stands for {len(meant)} judges; load each by name: {', '.join(map(str, meant))}."
        )
    return resolve(meant, vocabularies.load(vocabulary), **VoteOptions().how)[0]
