"""Commands about what people mark: sheets to mark (`review`, `agree`), and how often judges err by them (`certify`)."""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from halluscope import inputs, registry, vocabularies
from halluscope.cli import common
from halluscope.files.writing import json_line, new_file
from halluscope.judging.options import VoteOptions
from halluscope.options import defaults
from halluscope.reading.datasets import Source, read_rows
from halluscope.registry import Benchmark
from halluscope.reliability import agreement, certificate
from halluscope.reliability.sheet import (
    AGREE,
    IMPLIED,
    READING,
    VALID,
    VERDICT,
    check_folder,
    read_sheet,
    write,
)
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import to_json
from halluscope.responses import files
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
    judging = {"vocabulary", *(field.name for field in fields(VoteOptions))}
    every = [(one, {option.name for option in one.options}) for one in registry.benchmarks()]
    return next(one.without(names - judging) for one, names in every if "certificate" in names)


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

ROWS = (VALID, AGREE)  # the marks of a dataset's rows
# an option of `review make` -> the marks that it is for
FOR = {
    "stratum": ROWS,
    "responses": (*ROWS, IMPLIED),
    "images": (*ROWS, VERDICT),
    "dataset": (VERDICT,),
}


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

    marks, out, benchmark = options.marks, options.out, _certified()
    for name, kinds in (FOR | {one.name: (IMPLIED,) for one in benchmark.options}).items():
        if getattr(options, name, None) not in (None, ()) and marks not in kinds:
            raise ValueError(f"--{name} is for --marks {' or '.join(kinds)}; the marks are {marks}.")
    check_folder(out)
    drawn, few, fewest, classes = "", "", 0, ()
    if marks == VERDICT:  # a run's responses, drawn by their verdicts
        from halluscope.stats.samples import FEWEST_MARKED

        run = check(Path(options.rows))
        image = review.image_by_id(options.dataset, options.images)
        rows = graders.sheet(run, options.sample, options.seed, image)
        title, drawn = f"Verdicts on the responses of {run.name}", f"{options.sample:,} responses, "
        fewest = FEWEST_MARKED
        few = f"This shows how the judge errs; to correct scores, mark at least {fewest} responses."
    elif marks == IMPLIED:  # texts, drawn by the judges' votes
        from halluscope.stats.corrected import FEWEST_TEXTS

        ready, ids, judging = _judged_texts(options, benchmark, [options.rows])
        texts, references = ready.matched.texts, ready.inputs["references"]
        judgement = benchmark.module("metric").judge(texts, references, **judging)
        rows = certificate.sheet(judgement, ids, options.sample, options.seed)
        title, drawn = f"What the responses of {ready.matched.name} imply", f"{options.sample:,} texts, "
        classes, fewest = judgement.vocabulary.classes, min(FEWEST_TEXTS, len(texts))
        few = f"This is enough to certify a judge; to correct scores, label at least {FEWEST_TEXTS} texts."
    else:
        rows = review.draw(
            read_rows(options.rows),
            options.sample,
            options.seed,
            stratum=options.stratum,
            responses={
                file.name: [{**one.row, "response": one.text} for one in file.each]
                for file in files.read(options.responses)
            },
            images=options.images,
            folder=Source.of(options.rows).folder,
        )
        title = f"Review of {Path(options.rows).name}"
    name = write(rows, out, marks, title, classes)
    pictured = sum("image" in row for row in rows)
    say(f"{one_line(out)}: the sheet {name}, {drawn}{len(rows):,} rows, {pictured:,} with an image")
    if options.sample < fewest:
        say(few)
    say(_how_to_mark(out))


def review_read(options: argparse.Namespace) -> None:
    """Print what a marked sheet says."""
    from halluscope.reliability import review

    data, lines = review.says(read_sheet(options.sheet, options.allow_unmarked))
    say(to_json(data) if options.json else "\n".join(lines))


# agree. Source: THRONE, supplement, section 4. `halluscope review read` reads the marked sheet.


def agree(given: argparse.Namespace) -> None:
    """Tell how often two methods read the same classes, and which one errs."""
    from halluscope.reliability import review

    if (given.dataset and not given.out) or (given.images and not given.dataset):
        raise ValueError(
            "--dataset needs --out, because its images go on the sheet; --images needs --dataset, whose files it holds."
        )
    if given.each:
        common.check_output(given, given.each)
    (first, ours), (second, theirs) = map(_method, (given.first, given.second))
    both = agreement.pair((first, second), ours, theirs)
    result = agreement.compare(both)
    sheet = None
    if given.out:
        picture = review.image_by_id(given.dataset, given.images)
        rows = agreement.draw(both, given.agreeing, given.disagreeing, given.seed, picture)
        sheet = write(rows, given.out, READING, f"Review of {agreement.AND.join(both.names)}")
    if given.each:
        with new_file(given.each) as lines:
            lines.writelines(map(json_line, agreement.each(both)))
    common.output(given, {**result, "sheet": sheet}, lambda: agreement.report(result))
    if sheet and given.format != JSON:
        tell(f"{one_line(given.out)}: the sheet {sheet}. {_how_to_mark(given.out)}")


def _method(word: str) -> tuple[str, dict[agreement.Key, agreement.Reading]]:
    name, equals, folder = word.partition("=")
    path = Path(folder if equals and name and not Path(word).exists() else word)
    runs = map(check, folders([path]))
    rows = ((run.name, *row) for run in runs for row in zip(run.ready.matched.texts, run.found, strict=True))
    method = path.resolve().name if path == Path(word) else name
    return method, agreement.readings(rows)


# certify. Labels are a sheet that `review make --marks implied` made, or JSON lines; with --run, a sheet of
# `review make RUN --marks verdict`: the grader's errors and corrected scores.


def options_certify(_: None) -> Benchmark:
    return _certified().without({"ask"})


def certify(given: argparse.Namespace) -> None:
    """Measure how often judges err about the responses' texts, by labels that people gave."""
    if not given.by.strip():
        raise ValueError("--by is empty; expected who gave the labels.")
    if given.out:
        common.check_output(given, given.out)
    missing = [name for name in ("responses", "dataset") if not getattr(given, name)]
    if given.graded and len(missing) < 2:
        raise ValueError(
            "--run has the responses and their rows; expected no --responses and no --dataset beside it."
        )
    if missing and not given.graded:
        raise ValueError(
            f"--{missing[0]} is missing; expected --responses and --dataset, or --run for a grader."
        )
    if given.graded:
        resampling = Bootstrap(given.bootstrap, given.seed)
        run = check(given.graded)
        found = graders.certify(given.labels, run, given.by, given.allow_unmarked, resampling)
        content, shown, report = dict(found), dict(found), found.report
    else:
        content = _certificate(given)
        shown = {name: value for name, value in content.items() if name != "labels"}
        report = certificate.report(content)
    if given.out:
        with new_file(given.out) as file:
            file.write(to_json(content) + "\n")
    common.output(given, shown, lambda: report)


def _certificate(given: argparse.Namespace) -> dict[str, Any]:
    given.ask = "all"  # the labelled texts are few, so every vote is worth asking for
    benchmark = _certified()
    ready, ids, options = _judged_texts(given, benchmark)
    judge = benchmark.module("metric").judge
    options = defaults(judge) | options
    texts, _ = take_out(ready.matched.texts, options["thoughts"])
    references = ready.inputs["references"]
    population, vocabulary = certificate.rows_of(texts), vocabularies.load(options["vocabulary"])
    labels = certificate.read_labels(given.labels, texts, ids, vocabulary, given.allow_unmarked)
    rows = [population[text] for text in labels.texts]
    judgement = judge(
        [texts[row] for row in rows], [references[row] for row in rows], **options | {"thoughts": KEPT}
    )
    return certificate.certify(
        judgement,
        labels,
        options.get("store"),
        texts=certificate.name_of(population),
        labelled_by=given.by,
        responses=ready.matched.name,
        data=data_of_texts(vocabulary.name, inputs.labelled(references, ready.inputs["image_ids"])),
    ).content
