"""Commands about what people mark: sheets to mark (`review`, `agree`), and how often judges err by them (`certify`)."""

import argparse
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from halluscope import inputs, registry, vocabularies
from halluscope.cli import common
from halluscope.files.writing import json_line, new_file
from halluscope.options import defaults
from halluscope.registry import Benchmark
from halluscope.reliability import agreement
from halluscope.reliability.agreement import AND, Key, Pair, Reading
from halluscope.reliability.certificate import certify as measure
from halluscope.reliability.certificate import name_of, read_labels, report, rows_of
from halluscope.reliability.sheet import IMPLIED, READING, VERDICT, read_sheet
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import to_json
from halluscope.responses.thoughts import KEPT, take_out
from halluscope.runs import certifying as graders
from halluscope.runs.folder import check, folders
from halluscope.sanitize import one_line
from halluscope.scoring import Ready
from halluscope.signature import data_of_texts
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import say, tell


def _certified() -> Benchmark:
    """Return the benchmark whose scores a certificate corrects, with its judges' options only."""
    (found,) = (
        one for one in registry.benchmarks() if any(option.name == "certificate" for option in one.options)
    )
    judging = {field.name for field in fields(found.judges.options)} if found.judges else set()
    own = (option for option in found.options if option.name in judging | {"vocabulary"})
    return replace(found, options=tuple(own))


def _judged_texts(
    given: argparse.Namespace, benchmark: Benchmark, dataset: list[str] | None = None
) -> tuple[Ready, list[str], dict[str, Any]]:
    """Return one LVLM's responses, the ids of their images, and the judges' options."""
    if len(given.responses) != 1:
        raise ValueError(
            f"--responses names {len(given.responses)} files; expected one, since labels are about one LVLM's texts."
        )
    options = common.options_of(given, benchmark)
    (one,) = common.ready(given, benchmark, options, dataset)
    columns = registry.identity(benchmark).id
    ids = [" ".join(str(getattr(row, column)) for column in columns) for row in one.matched.rows]
    return one, ids, options


def _how_to_mark(folder: Path) -> str:
    out = one_line(folder)
    return f"Open {out}/page.html in a browser, or mark {out}/sheet.csv in a spreadsheet."


# review


def parser_review_make(parser: argparse.ArgumentParser, _: None) -> None:
    group = parser.add_argument_group(
        "with --marks implied", "the judges whose votes guide the draw of texts, and how responses are read"
    )
    benchmark = _certified()
    parser.set_defaults(name=benchmark.name)
    common.declare(group, {"with": ["benchmark", "reading"]}, benchmark)


def review_make(options: argparse.Namespace) -> None:
    """Draw a sample, and write a page and a CSV to mark it on."""
    from halluscope.reliability import review

    marks, out = options.marks, options.out
    if marks != IMPLIED and (
        asked := [one.name for one in _certified().options if hasattr(options, one.name)]
    ):
        raise ValueError(f"{asked[0]} is for the judges of --marks {IMPLIED}; the marks are {marks}.")
    if marks == IMPLIED and (options.stratum or options.images):
        raise ValueError("--stratum and --images are for rows; expected neither with --marks implied.")
    if marks == VERDICT and (options.stratum or options.responses):
        raise ValueError(f"--stratum and --responses are for rows; expected neither with --marks {VERDICT}.")
    if marks not in (IMPLIED, VERDICT):
        if options.dataset:
            raise ValueError(f"--dataset is for --marks {VERDICT}; the marks are {marks}.")
        _review_rows(options)
        return
    review.check_folder(out)
    if marks == VERDICT:  # a run's responses, drawn by their verdicts
        from halluscope.stats.samples import FEWEST_MARKED

        run = check(Path(options.rows))
        image = review.image_by_id(options.dataset, options.images) if options.dataset else None
        rows = graders.sheet(run, options.sample, options.seed, image)
        name = review.write(rows, out, VERDICT, f"Verdicts on the responses of {run.name}")
        what, few = (
            "responses",
            f"This shows how the judge errs; to correct scores, mark at least {FEWEST_MARKED} responses.",
        )
        is_few = options.sample < FEWEST_MARKED
    else:  # texts, drawn by the judges' votes
        from halluscope.reliability.certificate import sheet
        from halluscope.stats.corrected import FEWEST_TEXTS

        benchmark = _certified()
        ready, ids, judging = _judged_texts(options, benchmark, [options.rows])
        judgement = benchmark.module("metric").judge(
            ready.matched.texts, ready.inputs["references"], **judging
        )
        rows = sheet(judgement, ids, options.sample, options.seed)
        title = f"What the responses of {ready.matched.name} imply"
        name = review.write(rows, out, IMPLIED, title, judgement.vocabulary.classes)
        what, few = (
            "texts",
            f"This is enough to certify a judge; to correct scores, label at least {FEWEST_TEXTS} texts.",
        )
        is_few = options.sample < min(FEWEST_TEXTS, len(judgement.texts))
    say(f"{one_line(out)}: the sheet {name}, {options.sample:,} {what}, {len(rows):,} rows")
    if is_few:
        say(few)
    say(_how_to_mark(out))


def _review_rows(options: argparse.Namespace) -> None:
    from halluscope.reading.datasets import Source, read_rows
    from halluscope.reliability import review

    drawn = review.draw(
        read_rows(options.rows),
        options.sample,
        options.seed,
        stratum=options.stratum,
        responses=review.read_responses(options.responses),
        images=options.images,
        folder=Source.of(options.rows).folder,
    )
    name = review.write(drawn, options.out, options.marks, f"Review of {Path(options.rows).name}")
    pictured = sum(image is not None for _, image in drawn)
    say(f"{one_line(options.out)}: the sheet {name}, {len(drawn):,} rows, {pictured:,} with an image")
    say(_how_to_mark(options.out))


def review_read(options: argparse.Namespace) -> None:
    """Print what a marked sheet says."""
    from halluscope.reliability import review

    sheet = read_sheet(options.sheet, options.allow_unmarked)
    say(to_json(review.summary(sheet)) if options.json else "\n".join(review.lines(sheet)))


# agree. Source: THRONE, supplement, section 4. `halluscope review read` reads the marked sheet.


def agree(given: argparse.Namespace) -> None:
    """Tell how often two methods read the same classes, and which one errs."""
    if (given.dataset and not given.out) or (given.images and not given.dataset):
        raise ValueError(
            "--dataset needs --out, because its images go on the sheet; --images needs --dataset, whose files it holds."
        )
    if given.each:
        common.check_output(given, given.each)
    (first, ours), (second, theirs) = _method(given.first), _method(given.second)
    both = agreement.pair((first, second), ours, theirs)
    result = agreement.compare(both)
    sheet = _sheet(given, both) if given.out else ""
    if given.each:
        with new_file(given.each) as lines:
            lines.writelines(map(json_line, agreement.each(both)))
    common.output(given, {**result, "sheet": sheet or None}, lambda: agreement.report(result))
    if sheet and given.format != JSON:
        tell(f"{one_line(given.out)}: the sheet {sheet}. {_how_to_mark(given.out)}")


def _method(word: str) -> tuple[str, dict[Key, Reading]]:
    name, equals, folder = word.partition("=")
    path = Path(folder if equals and name and not Path(word).exists() else word)
    runs = map(check, folders([path]))
    rows = ((run.name, *row) for run in runs for row in zip(run.ready.matched.texts, run.found, strict=True))
    method = path.resolve().name if path == Path(word) else name
    return method, agreement.readings(method, rows)


def _sheet(given: argparse.Namespace, both: Pair) -> str:
    from halluscope.reliability import review

    drawn = agreement.draw(
        both,
        given.agreeing,
        given.disagreeing,
        given.seed,
        review.image_by_id(given.dataset, given.images) if given.dataset else lambda image: None,
    )
    return review.write(drawn, given.out, READING, f"Review of {AND.join(both.names)}")


# certify. Labels are a sheet that `review make --marks implied` made, or JSON lines; with --run, a sheet of
# `review make RUN --marks verdict`: the grader's errors and corrected scores.


def options_certify(_: None) -> Benchmark:
    return _certified().without({"ask"})


def certify(given: argparse.Namespace) -> None:
    """Measure how often judges err about the responses' texts, by labels that people gave."""
    given.ask = "all"  # the labelled texts are few, so every vote is worth asking for
    if not given.by.strip():
        raise ValueError("--by is empty; expected who gave the labels.")
    if given.out:
        common.check_output(given, given.out)
    if given.graded:
        if given.responses or given.dataset:
            raise ValueError(
                "--run has the responses and their rows; expected no --responses and no --dataset beside it."
            )
        found = graders.certify(
            given.labels,
            check(given.graded),
            given.by,
            given.allow_unmarked,
            Bootstrap(given.bootstrap, given.seed),
        )
        _write(given.out, found)
        common.output(given, found)
        return
    if missing := [name for name in ("responses", "dataset") if not getattr(given, name)]:
        raise ValueError(
            f"--{missing[0]} is missing; expected --responses and --dataset, or --run for a grader."
        )
    benchmark = _certified()
    ready, ids, options = _judged_texts(given, benchmark)
    judge = benchmark.module("metric").judge
    options = defaults(judge) | options
    texts, _ = take_out(ready.matched.texts, options["thoughts"])
    references = ready.inputs["references"]
    population, vocabulary = rows_of(texts), vocabularies.load(options["vocabulary"])
    labelled = read_labels(given.labels, texts, ids, vocabulary, given.allow_unmarked)
    rows = [population[text] for text in labelled.texts]
    certificate = measure(
        judge(
            [texts[row] for row in rows], [references[row] for row in rows], **options | {"thoughts": KEPT}
        ),
        labelled,
        name_of(population),
        given.by,
        responses=ready.matched.name,
        data=data_of_texts(vocabulary.name, inputs.labelled(references, ready.inputs["image_ids"])),
        store=options.get("store"),
    )
    _write(given.out, certificate.content)
    content = {name: value for name, value in certificate.content.items() if name != "labels"}
    common.output(given, content, lambda: report(certificate))


def _write(out: Path | None, content: Mapping[str, Any]) -> None:
    if out:
        with new_file(out) as file:
            file.write(to_json(content) + "\n")
