"""halluscope: hallucination benchmarks for large vision-language models (LVLMs).

    >>> import halluscope
    >>> "pope" in halluscope.list_benchmarks()
    True

Nothing heavy is imported here, nor by `import halluscope`: a benchmark is loaded when it is asked for, and language
models import torch and transformers when they are first asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halluscope.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halluscope.judging.graders.chat import ChatJudge
    from halluscope.judging.voter import Judge
    from halluscope.registry import Benchmark
    from halluscope.reporting.page.notebook import Report

__all__ = ["__version__", "get_benchmark", "list_benchmarks", "load_judge", "report", "score"]


def list_benchmarks() -> list[str]:
    """The names of all benchmarks, each of which is also the name of its metric."""
    from halluscope import registry

    return [benchmark.name for benchmark in registry.benchmarks()]


def get_benchmark(name: str) -> Benchmark:
    """What is known of a benchmark: its datasets, options, scores and which way they are better, citation.

    Args:
        name: of the benchmark, or of one of its datasets, such as "throne" or "throne_coco".

    Raises:
        ValueError: if there is none; the message names the nearest.
    """
    from halluscope import registry

    return registry.benchmark(name)


def score(
    name: str,
    responses: str | Path | Sequence[Mapping[str, Any]] | Mapping[Any, Any],
    dataset: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score what one LVLM said against a dataset.

    Args:
        name: of the benchmark, or of one of its datasets; that of a dataset chooses the options that go with it.
        responses: a file (JSON lines, a JSON list or {id: text}, csv, tsv, Parquet, xlsx, .gz too, samples of lm-eval
            or lmms-eval, or a log of Inspect), "NAME=A,B,C" for one in parts, or rows with an id and a text.
        dataset: a folder, a Hub id, or an upstream file, written `name[:config][@split]`; several where a benchmark has
            several files.
        out: a new folder, where a run is written: scores, rows, votes and replies (`halluscope verify`); None writes
            nothing.
        options: of the benchmark (`get_benchmark(name).help` tells which), and limit, partial, id_column, text_column.

    Returns:
        The scores, fractions in [0, 1] unless their benchmark says otherwise, NaN where undefined; and "signature".

    Raises:
        ValueError: for an unknown name or option, or responses that do not belong to the dataset; before a judge is
            asked.
        FileNotFoundError: if a file does not exist.
        OSError: if `out` cannot be written.
    """
    from halluscope import scoring

    if out is not None:
        from halluscope.runs import folder

        return folder.score(out, name, responses, dataset, options)
    return scoring.score(name, responses, dataset, **options)


def report(
    result: Mapping[str, Any],
    predictions: Sequence[str],
    references: Sequence[Any],
    *,
    images: Sequence[Any] | None = None,
    name: str = "responses",
    **options: Any,
) -> Report:
    """Show what went wrong in responses that a metric scored: in a notebook, or as a page for a browser.

    Args:
        result: what the metric's `compute` gave, with its table of rows (`per_image=True`, `per_question=True`).
        predictions: the responses, as `compute` got them.
        references: what they were compared with, as `compute` got it.
        images: a picture (`PIL.Image`) per response, or None for one without.
        name: of the LVLM.
        options: that `compute` got, and that are to be seen: `image_ids`, `questions`, `vocabulary`.

    Returns:
        A report, which a notebook shows where a cell ends with it; `.save("report.html")` writes it.

    Raises:
        ValueError: for what is no such result, or is not about these responses.
    """
    from halluscope.runs import page, showing

    return page.of_result(showing.of_result(result, predictions, references, name, **options), images)


def load_judge(name: str, vocabulary: str | Sequence[str] = "coco") -> Judge | ChatJudge:
    """Find a judge, so that it can be asked directly, or passed to several benchmarks. It is not loaded yet.

    Args:
        name: of a voter, which says yes or no about a text ("lexical", "replay:FILE", "scoring:MODEL@URL", or a model:
            a Hub id, a folder, a GGUF file); or of a grader behind an endpoint, which gives verdicts
            ("openai:MODEL@URL"). A voter behind one is a `halluscope.judging.voters.endpoint.EndpointVoter`.
        vocabulary: the classes that the lexical voter knows.

    Raises:
        JudgeUnavailable: for a judge that is unknown, without weights, or not to be had.
        ValueError: for a name that stands for several judges; the message names them.
    """
    from halluscope import vocabularies
    from halluscope.judging.graders.resolve import resolve_chat
    from halluscope.judging.models.engine import Engine
    from halluscope.judging.server import ENDPOINT
    from halluscope.judging.voters.resolve import named, resolve

    if name.startswith(ENDPOINT):
        return resolve_chat(name)
    meant = named(name)
    if len(meant) > 1:
        raise ValueError(f"{name!r} stands for {len(meant)} judges; load each: {', '.join(map(str, meant))}.")
    return resolve(name, vocabularies.load(vocabulary), Engine())[0]
