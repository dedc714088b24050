"""Commands about what people mark: sheets to mark (`sheet`, `agree`), and how often judges err by them (`certify`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from halluscope import registry, vocabularies
from halluscope.benchmark import Benchmark
from halluscope.cli.parameters import INPUT, File, Folder, Resampling, Whole, declared, for_name
from halluscope.cli.printing import Output, check_output
from halluscope.cli.responses import MATCHING, Chosen, chosen, parameters
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
from halluscope.reporting.tables import Json, to_json
from halluscope.responses import files
from halluscope.responses.thoughts import KEPT, take_out
from halluscope.runs import certifying as graders
from halluscope.runs.folder import check, checked
from halluscope.sanitize import one_line
from halluscope.scoring import Ready
from halluscope.signature import data_of_objects
from halluscope.stats.corrected import FEWEST_TEXTS
from halluscope.stats.samples import FEWEST_MARKED
from halluscope.terminal import say, tell

# The group of options that matter only to --marks implied
IMPLYING = Group("With --marks implied, the judges whose votes guide the draw", sort_key=9)


def _certified() -> Benchmark:
    """Return THRONE, whose texts people label, with its judges' options only."""
    throne = registry.benchmark("throne")
    judging = {"vocabulary", "thoughts", *(field.name for field in fields(VoteOptions))}
    return throne.without({option.name for option in throne.options} - judging)


def _judged_texts(choice: Chosen, responses: Sequence[str], dataset: list[str]) -> tuple[Ready, list[str]]:
    """Return one LVLM's responses, and the ids of their images."""
    if len(responses) != 1:
        raise ValueError(
            f"--responses names {len(responses)} files; expected one, since labels are about one LVLM's texts."
        )
    (ready,) = choice.ready(responses, dataset)
    columns = registry.first_dataset(choice.benchmark).id
    ids = [" ".join(str(getattr(row, column)) for column in columns) for row in ready.matched.rows]
    return ready, ids


def _how_to_mark(folder: Path) -> str:
    out = one_line(folder)
    return f"Open {out}/page.html in a browser, or mark {out}/sheet.csv in a spreadsheet."


# sheets

ROWS = (VALID, AGREE)  # the marks of a dataset's rows
# an option of `sheet make` -> the marks that it is for
FOR = {
    "stratum": ROWS,
    "responses": (*ROWS, IMPLIED),
    "images": (*ROWS, VERDICT),
    "dataset": (VERDICT,),
}


def make_command() -> Callable[..., None]:
    """Return the command `sheet make`, with the options of the judges whose votes guide the draw of texts."""
    benchmark = _certified()
    own = [*MATCHING, *benchmark.options]
    return for_name(make, benchmark.name, declared(own, IMPLYING))


@dataclass(frozen=True)
class Sample:
    """What a sheet is drawn from, and how."""

    rows: str
    size: int
    seed: int
    stratum: str | None
    responses: Sequence[str]
    images: Path | None
    dataset: str | None


def make(
    name: str,
    rows: str,
    /,
    *,
    out: Folder,
    sample: Whole,
    seed: Whole = 0,
    marks: Annotated[str, Parameter(choices=(VALID, AGREE, IMPLIED, VERDICT))] = VALID,
    stratum: Annotated[str | None, Parameter(metavar="COLUMN")] = None,
    responses: Annotated[Sequence[str], Parameter(metavar="FILE...")] = (),
    images: Folder | None = None,
    dataset: Annotated[str | None, Parameter(metavar="DATASET")] = None,
    **options: Any,
) -> None:
    """Draw a sample, and write a page and a CSV to mark it on.

    Args:
        rows: JSON lines, a .parquet file, or a dataset (folder or Hub id; name:config); a run with --marks verdict
        out: write page.html and sheet.csv here
        sample: how many rows to draw; with --stratum, how many per stratum; with --marks implied or verdict, how many
            responses
        seed: seed of the draw (default: 0)
        marks: valid: are question and right answer valid? agree: do you agree with the response, or with its verdict?
            implied: which classes does a response imply? (for `study certify`; responses of one LVLM); verdict: how do
            you judge a response that a grader judged? (for `study certify --run`)
        stratum: draw from each value of this column
        responses: files of models' responses, each of which is marked (for `study reliability --criterion`)
        images: the folder of the image files that the rows name
        dataset: with --marks verdict: the dataset, to show its images
    """
    given = {"stratum": stratum, "responses": responses or None, "images": images, "dataset": dataset}
    for option, value in given.items():
        if value is not None and marks not in FOR[option]:
            raise ValueError(f"--{option} is for --marks {' or '.join(FOR[option])}; the marks are {marks}.")
    for option in options:
        if marks != IMPLIED:
            raise ValueError(f"--{option.replace('_', '-')} is for --marks {IMPLIED}; the marks are {marks}.")
    check_folder(out)
    wanted = Sample(rows, sample, seed, stratum, responses, images, dataset)
    if marks == VERDICT:
        draft = _verdicts(wanted)
    elif marks == IMPLIED:
        draft = _texts(wanted, chosen(_certified(), name, options))
    else:
        draft = _rows(wanted)
    sheet = write(draft, out, marks)
    pictured = sum("image" in row for row in draft.rows)
    say(f"{one_line(out)}: the sheet {sheet}, {len(draft.rows):,} rows, {pictured:,} with an image")
    fewest = {VERDICT: FEWEST_MARKED, IMPLIED: FEWEST_TEXTS}.get(marks, 0)
    if sample < fewest:
        say(f"This shows how the judge errs; to correct scores, mark at least {fewest} responses, or all.")
    say(_how_to_mark(out))


def _rows(wanted: Sample) -> Draft:
    texts = {}
    for file in files.read(wanted.responses):
        files.check_complete(file)
        texts[file.name] = [{**response.row, "response": response.text} for response in file.each]
    rows, source = read_rows(wanted.rows), Source.of(wanted.rows)
    images = review.Images(rows, wanted.images, source.folder)
    drawn = review.draw(images, wanted.size, wanted.seed, wanted.stratum, texts)
    return Draft(drawn, f"Review of {Path(wanted.rows).name}")


def _verdicts(wanted: Sample) -> Draft:
    """Draw a run's responses by their verdicts."""
    run = check(path_of(wanted.rows))
    image = review.image_by_id(wanted.dataset, wanted.images)
    rows = graders.sheet(run, wanted.size, wanted.seed, image)
    return Draft(rows, f"Verdicts on the responses of {run.name}")


def _texts(wanted: Sample, choice: Chosen) -> Draft:
    """Draw texts by the judges' votes."""
    ready, ids = _judged_texts(choice, wanted.responses, [wanted.rows])
    judge = choice.benchmark.module("metric").judge
    judgement = judge(ready.matched.texts, ready.inputs["references"], **choice.options)
    rows = certificate.sheet(judgement, ids, wanted.size, wanted.seed)
    return Draft(rows, f"What the responses of {ready.matched.name} imply", judgement.vocabulary.classes)


def read(sheet: File, /, *, allow_unmarked: bool = False, output: Output = Output()) -> None:
    """Print what a marked sheet says.

    Args:
        sheet: the CSV that the page saved, or a spreadsheet
        allow_unmarked: leave out rows without a mark
    """
    data, report = review.says(read_sheet(sheet, allow_unmarked))
    output.show(data, lambda: report)


# agree. Source: THRONE, supplement, section 4. `study sheet read` reads the marked sheet.


def agree(
    first: str,
    second: str,
    /,
    *,
    each: File | None = None,
    out: Folder | None = None,
    agreeing: Whole = 5,
    disagreeing: Whole = 10,
    seed: Whole = 0,
    dataset: Annotated[str | None, Parameter(metavar="DATASET")] = None,
    images: Folder | None = None,
    output: Output = Output(),
) -> None:
    """Tell how often two methods read the same classes, and which one errs.

    Args:
        first: a run, or a folder of runs, that `halluscope score NAME ... --out FOLDER` wrote; METHOD=FOLDER names the
            method (default: the folder's name)
        second: the same by another method
        each: write what each method reads from each response, as JSON lines
        out: write page.html and sheet.csv here, to mark the methods' errors on
        agreeing: how many responses to draw per LVLM on which the methods agree (default: 5)
        disagreeing: how many to draw on which they disagree (default: 10)
        seed: seed of the draw (default: 0)
        dataset: a dataset whose images the sheet shows; its rows have image_id, and image or file_name
        images: the folder of the image files that the rows of --dataset name
    """
    if (dataset and not out) or (images and not dataset):
        raise ValueError(
            "--dataset needs --out, because its images go on the sheet; --images needs --dataset, whose files it holds."
        )
    if each:
        check_output(each)
    names, methods = zip(*map(_method, (first, second)), strict=True)
    compared = agreement.pair(names, *methods)
    result = agreement.compare(names, compared)
    sheet = None
    if out:
        picture = review.image_by_id(dataset, images)
        most = {agreement.AGREE: agreeing, agreement.DISAGREE: disagreeing}
        rows = agreement.draw(names, compared, most, seed, picture)
        sheet = write(Draft(rows, f"Review of {agreement.AND.join(names)}"), out, READING)
    if each:
        with new_file(each) as lines:
            lines.writelines(json_line(row.as_json()) for row in compared)
    output.show({**result, "sheet": sheet}, lambda: agreement.report(result))
    if sheet and out and output.style != JSON:
        tell(f"{one_line(out)}: the sheet {sheet}. {_how_to_mark(out)}")


def _method(word: str) -> tuple[str, dict[agreement.Key, agreement.Reading]]:
    name, equals, folder = word.partition("=")
    path = path_of(folder if equals and name and not path_of(word).exists() else word)
    runs = checked([path]).values()
    rows = ((run.name, *row) for run in runs for row in zip(run.ready.matched.texts, run.found, strict=True))
    method = path.resolve().name if path == path_of(word) else name
    return method, agreement.readings(rows)


# certify. Labels are a sheet that `sheet make --marks implied` made, or JSON lines; with --run, a sheet of
# `sheet make RUN --marks verdict`: the grader's errors and corrected scores.


def certify_command() -> Callable[..., None]:
    """Return the command `certify`, with the options of the judges whose errors are measured."""
    benchmark = _certified().without({"ask"})
    return for_name(certify, benchmark.name, parameters(benchmark))


def certify(
    name: str,
    labels: File,
    /,
    *,
    run: Annotated[Folder | None, Parameter(metavar="RUN")] = None,
    responses: Annotated[Sequence[str], Parameter(metavar="FILE", group=INPUT)] = (),
    dataset: Annotated[Sequence[str], Parameter(metavar="DATASET...", group=INPUT)] = (),
    labelled_by: Annotated[str, Parameter(metavar="WHO")] = "people",
    allow_unmarked: bool = False,
    out: File | None = None,
    resampling: Resampling = Resampling(),
    output: Output = Output(),
    **options: Any,
) -> None:
    """Measure how often judges err, by labels that people gave, and correct scores by them.

    Args:
        labels: a marked sheet of `study sheet make --marks implied`, or JSON lines {id or text, class, answer,
            [weight]}, one for each class of a labelled text
        run: the run whose verdicts the sheet was made for
        responses: the labelled responses of one LVLM
        dataset: the dataset that they are about
        labelled_by: who gave the labels, for the certificate (default: people)
        allow_unmarked: leave out texts that have unmarked rows
        out: write the certificate here, as JSON
    """
    if not labelled_by.strip():
        raise ValueError("--labelled-by is empty; expected who gave the labels.")
    is_given = [bool(run), bool(responses), bool(dataset)]
    if is_given not in ([True, False, False], [False, True, True]):
        raise ValueError(
            "Expected --responses and --dataset, or --run alone for a grader, since a run has both."
        )
    if out:
        check_output(out, options.get("store"))
    content: Json
    if run:
        bootstrap = resampling.bootstrapped()
        content = graders.certify(labels, check(run), labelled_by, allow_unmarked, bootstrap)
        report = content.report
    else:
        choice = chosen(_certified(), name, {**options, "ask": "all"})  # the labelled texts are few
        ready, ids = _judged_texts(choice, responses, [*dataset])
        content = _certificate(choice, ready, ids, Labelled(labels, labelled_by, allow_unmarked))
        report = certificate.report(content)
    if out:
        with new_file(out) as file:
            file.write(to_json(content) + "\n")
    shown = {key: value for key, value in content.items() if key != "labels"}
    output.show(shown, lambda: report)


@dataclass(frozen=True)
class Labelled:
    """A file of labels."""

    path: Path
    labelled_by: str
    allow_unmarked: bool


def _certificate(choice: Chosen, ready: Ready, ids: Sequence[str], labelled: Labelled) -> Json:
    """Return the certificate of judges: how often they err on the labelled texts."""
    judge = choice.benchmark.module("metric").judge
    options = defaults(judge) | choice.options
    texts = take_out(ready.matched.texts, options["thoughts"]).texts
    references = ready.inputs["references"]
    population, vocabulary = certificate.rows_of(texts), vocabularies.load(options["vocabulary"])
    labels = certificate.read_labels(labelled.path, texts, ids, vocabulary, labelled.allow_unmarked)
    rows = [population[text] for text in labels.texts]
    judgement = judge(
        [texts[row] for row in rows], [references[row] for row in rows], **options | {"thoughts": KEPT}
    )
    corrected = None
    if certificate.suffices(labels, texts):
        everything = judge(texts, references, **options | {"thoughts": KEPT, "ask": "needed"})
        corrected = certificate.corrected_scores(everything, labels)
    return certificate.certify(
        judgement,
        labels,
        options.get("store"),
        corrected,
        texts=certificate.name_of(population),
        labelled_by=labelled.labelled_by,
        responses=ready.matched.name,
        data=data_of_objects(vocabulary.name, references, ready.inputs["image_ids"]),
    )
