"""Commands about what people mark: sheets to mark (`review`, `agree`), and how often judges err by them (`certify`)."""

from argparse import ArgumentParser, Namespace
from dataclasses import fields
from pathlib import Path
from typing import Any

from halluscope import registry, vocabularies
from halluscope.benchmark import Benchmark
from halluscope.cli import common
from halluscope.files.writing import json_line, new_file
from halluscope.judging.options import VoteOptions
from halluscope.options import defaults
from halluscope.paths import path_of
from halluscope.reading.datasets import Source, read_rows
from halluscope.reliability import agreement, certificate, review
from halluscope.reliability.sheet import (
    AGREE,
    IMPLIED,
    READING,
    VALID,
    VERDICT,
    Draft,
    check_folder,
    read_sheet,
    write,
)
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import Json, Report, to_json
from halluscope.responses import reading
from halluscope.responses.thoughts import KEPT, take_out
from halluscope.runs import certifying as graders
from halluscope.runs.folder import check, checked
from halluscope.sanitize import one_line
from halluscope.scoring import Ready
from halluscope.signature import data_of_objects
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.corrected import FEWEST_TEXTS
from halluscope.stats.samples import FEWEST_MARKED
from halluscope.terminal import say, tell


def _certified() -> Benchmark:
    """Return THRONE, whose texts people label, with its judges' options only."""
    throne = registry.benchmark("throne")
    judging = {"vocabulary", *(field.name for field in fields(VoteOptions))}
    return throne.without({option.name for option in throne.options} - judging)


def _judged_texts(
    args: Namespace, benchmark: Benchmark, dataset: list[str]
) -> tuple[Ready, list[str], dict[str, Any]]:
    """Return one LVLM's responses, the ids of their images, and the judges' options."""
    if len(args.responses) != 1:
        raise ValueError(
            f"--responses names {len(args.responses)} files; expected one, since labels are about one LVLM's texts."
        )
    options = common.options_of(args, benchmark)
    (one,) = common.ready(args, benchmark, options, dataset)
    columns = registry.first_dataset(benchmark).id
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


def parser_review_make(parser: ArgumentParser, _: None) -> None:
    group = parser.add_argument_group(
        "with --marks implied", "the judges whose votes guide the draw of texts, and how responses are read"
    )
    benchmark = _certified()
    parser.set_defaults(name=benchmark.name)
    common.declare(group, {"with": ["benchmark", "reading"]}, benchmark)


def review_make(args: Namespace) -> None:
    """Draw a sample, and write a page and a CSV to mark it on."""
    marks, out, benchmark = args.marks, args.out, _certified()
    for name, kinds in (FOR | {one.name: (IMPLIED,) for one in benchmark.options}).items():
        if getattr(args, name, None) not in (None, ()) and marks not in kinds:
            raise ValueError(f"--{name} is for --marks {' or '.join(kinds)}; the marks are {marks}.")
    check_folder(out)
    draft = {VERDICT: _verdicts, IMPLIED: _texts}.get(marks, _rows)(args, benchmark)
    name = write(draft, out, marks)
    pictured = sum("image" in row for row in draft.rows)
    say(f"{one_line(out)}: the sheet {name}, {len(draft.rows):,} rows, {pictured:,} with an image")
    fewest = {VERDICT: FEWEST_MARKED, IMPLIED: FEWEST_TEXTS}.get(marks, 0)
    if args.sample < fewest:
        say(f"This shows how the judge errs; to correct scores, mark at least {fewest} responses, or all.")
    say(_how_to_mark(out))


def _rows(args: Namespace, _: Benchmark) -> Draft:
    texts = {}
    for file in reading.read(args.responses):
        reading.check_complete(file)
        rows = zip(file.table.rows(), file.texts, strict=True)
        texts[file.name] = [{**row, "response": text} for row, text in rows]
    rows, source = read_rows(args.rows), Source.of(args.rows)
    images = review.Images(rows, args.images, source.folder)
    drawn = review.draw(images, args.sample, args.seed, args.stratum, texts)
    return Draft(drawn, f"Review of {Path(args.rows).name}")


def _verdicts(args: Namespace, _: Benchmark) -> Draft:
    """Draw a run's responses by their verdicts."""
    run = check(path_of(args.rows))
    image = review.image_by_id(args.dataset, args.images)
    rows = graders.sheet(run, args.sample, args.seed, image)
    return Draft(rows, f"Verdicts on the responses of {run.name}")


def _texts(args: Namespace, benchmark: Benchmark) -> Draft:
    """Draw texts by the judges' votes."""
    ready, ids, judging = _judged_texts(args, benchmark, [args.rows])
    judgement = benchmark.module("metric").judge(ready.matched.texts, ready.inputs["references"], **judging)
    rows = certificate.sheet(judgement, ids, args.sample, args.seed)
    return Draft(rows, f"What the responses of {ready.matched.name} imply", judgement.vocabulary.classes)


def review_read(args: Namespace) -> None:
    """Print what a marked sheet says."""
    data, report = review.says(read_sheet(args.sheet, args.allow_unmarked))
    common.output(args, data, lambda: report)


# agree. Source: THRONE, supplement, section 4. `halluscope review read` reads the marked sheet.


def agree(args: Namespace) -> None:
    """Tell how often two methods read the same classes, and which one errs."""
    if (args.dataset and not args.out) or (args.images and not args.dataset):
        raise ValueError(
            "--dataset needs --out, because its images go on the sheet; --images needs --dataset, whose files it holds."
        )
    if args.each:
        common.check_output(args, args.each)
    names, methods = zip(*map(_method, (args.first, args.second)), strict=True)
    compared = agreement.pair(names, *methods)
    result = agreement.compare(names, compared)
    sheet = None
    if args.out:
        picture = review.image_by_id(args.dataset, args.images)
        most = {agreement.AGREE: args.agreeing, agreement.DISAGREE: args.disagreeing}
        rows = agreement.draw(names, compared, most, args.seed, picture)
        sheet = write(Draft(rows, f"Review of {agreement.AND.join(names)}"), args.out, READING)
    if args.each:
        with new_file(args.each) as lines:
            lines.writelines(json_line(one.as_json()) for one in compared)
    common.output(args, {**result, "sheet": sheet}, lambda: agreement.report(result))
    if sheet and args.format != JSON:
        tell(f"{one_line(args.out)}: the sheet {sheet}. {_how_to_mark(args.out)}")


def _method(word: str) -> tuple[str, dict[agreement.Key, agreement.Reading]]:
    name, equals, folder = word.partition("=")
    path = path_of(folder if equals and name and not path_of(word).exists() else word)
    runs = checked([path]).values()
    rows = ((run.name, *row) for run in runs for row in zip(run.ready.matched.texts, run.found, strict=True))
    method = path.resolve().name if path == path_of(word) else name
    return method, agreement.readings(rows)


# certify. Labels are a sheet that `review make --marks implied` made, or JSON lines; with --run, a sheet of
# `review make RUN --marks verdict`: the grader's errors and corrected scores.


def options_certify(_: None) -> Benchmark:
    return _certified().without({"ask"})


def certify(args: Namespace) -> None:
    """Measure how often judges err, by labels that people gave, and correct scores by them."""
    if not args.by.strip():
        raise ValueError("--by is empty; expected who gave the labels.")
    if [bool(one) for one in (args.graded, args.responses, args.dataset)] not in (
        [True, False, False],
        [False, True, True],
    ):
        raise ValueError(
            "Expected --responses and --dataset, or --run alone for a grader, since a run has both."
        )
    if args.out:
        common.check_output(args, args.out)
    content, report = (_of_grader if args.graded else _of_judges)(args)
    if args.out:
        with new_file(args.out) as file:
            file.write(to_json(content) + "\n")
    shown = {name: value for name, value in content.items() if name != "labels"}
    common.output(args, shown, lambda: report)


def _of_grader(args: Namespace) -> tuple[Json, Report]:
    resampling = Bootstrap(args.bootstrap, args.seed)
    found = graders.certify(args.labels, check(args.graded), args.by, args.allow_unmarked, resampling)
    return found, found.report


def _of_judges(args: Namespace) -> tuple[Json, Report]:
    args.ask = "all"  # the labelled texts are few, so every vote is worth asking for
    benchmark = _certified()
    ready, ids, options = _judged_texts(args, benchmark, args.dataset)
    judge = benchmark.module("metric").judge
    options = defaults(judge) | options
    texts = take_out(ready.matched.texts, options["thoughts"]).texts
    references = ready.inputs["references"]
    population, vocabulary = certificate.rows_of(texts), vocabularies.load(options["vocabulary"])
    labels = certificate.read_labels(args.labels, texts, ids, vocabulary, args.allow_unmarked)
    rows = [population[text] for text in labels.texts]
    judgement = judge(
        [texts[row] for row in rows], [references[row] for row in rows], **options | {"thoughts": KEPT}
    )
    corrected = None
    if certificate.suffices(labels, texts):
        everything = judge(texts, references, **options | {"thoughts": KEPT, "ask": "needed"})
        corrected = certificate.corrected_scores(everything, labels)
    content = certificate.certify(
        judgement,
        labels,
        options.get("store"),
        corrected,
        texts=certificate.name_of(population),
        labelled_by=args.by,
        responses=ready.matched.name,
        data=data_of_objects(vocabulary.name, references, ready.inputs["image_ids"]),
    )
    return content, certificate.report(content)
