"""THRONE: object hallucination in free-form image descriptions (Kaul et al., CVPR 2024).

Judges are asked, for every class of the vocabulary, whether an LVLM's text implies that it is in the image; their
votes become labels, and labels against the ground truth become precision, recall and F.
"""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope import asking, vocabularies, voting
from halluscope import questions as question_sets
from halluscope.answers import OTHER, UNASKED
from halluscope.judges.base import Judge
from halluscope.judges.engine import Engine
from halluscope.metrics.inputs import check_texts
from halluscope.questions import QuestionSet
from halluscope.scoring import presence
from halluscope.scoring.bootstrap import Bootstrap
from halluscope.scoring.presence import AllAverage, ClassF, Conventions, Hits
from halluscope.signature import signature
from halluscope.store import AnswerStore
from halluscope.vocabularies import Vocabulary
from halluscope.voting import IGNORED

GIVEN = "given"


def compute(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    vocabulary: str | Sequence[str] | Vocabulary = "coco",
    judges: str | Judge | Sequence[str | Judge] = "flan-t5",
    questions: str | Sequence[str] | QuestionSet = "paper",
    agreement: str | int = "unanimous",
    beta: float = 0.5,
    ask: str = "needed",
    votes: ArrayLike | None = None,
    class_f: ClassF = "of_means",
    all_average: AllAverage = "pooled",
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    cells: ArrayLike | None = None,
    image_ids: Sequence[Any] | None = None,
    per_class: bool = False,
    per_image: bool = False,
    device: str | None = None,
    engine: str = "torch",
    recheck: float = 0.0,
    workers: int = 0,
    store: AnswerStore | str | None = None,
    progress: bool = True,
) -> dict[str, Any]:
    """Score an LVLM's descriptions of images.

    Args:
        predictions: the LVLM's raw texts, one an image; an empty text mentions nothing.
        references: the classes present in each image, by their names in the vocabulary.
        vocabulary: "coco", "objects365", or the class names in the order of the columns of `votes`.
        judges: "flan-t5" (the paper's three), "lexical" (no model), a model's Hub id, folder or GGUF file, a judge
            of `halluscope.judges`, or a list of these, the cheapest first.
        questions: "paper" (section 4.3), "released" (what the released code asks), or a list of templates.
        agreement: how many votes must agree: "unanimous", "majority", or a number (section 3.2).
        beta: the weight of recall against precision in F (equation 3).
        ask: "needed" asks only what can still move precision or recall, "all" asks everything; the scores are equal.
        votes: 0/1 [images, classes, judges x questions]; when they are given no judge is asked.
        class_f: "of_means" is F of the two class averages (Table 1), "mean" the mean of each class's F (released).
        all_average: "pooled" over all cells, or the mean over images, "image" (released).
        bootstrap: how many resamples of the images an interval is made of; 0 for none.
        seed: of the bootstrap.
        level: of the interval, in (0, 1).
        cells: bool [images, classes]; the same votes are also scored on these cells alone, such as those that POPE
            asks about (supplement, section 2).
        image_ids: when they are given, an id that comes twice is an error.
        per_class: also give the table `classes`.
        per_image: also give, for each image, which classes were found, hallucinated and missed.
        device: where language models run; by default a GPU if there is one.
        engine: what runs them: "torch" (bfloat16 on CUDA, else float32), "torch-float32", "torch-bfloat16", or for
            encoder-decoders "ctranslate2" (float32) or "ctranslate2-int8". A precision changes answers; the judges'
            keys in the signature say which.
        recheck: with "ctranslate2-int8", answers by a smaller lead than this many logits are asked again in float32.
        workers: how many processes hold a copy of each judge, each on a GPU of its own if there are any, through Ray.
        store: where language models' answers are kept: a path, or by default the user's cache.
        progress: show what the judges are doing.

    Returns:
        `precision_all recall_all f1_all f0.5_all` over all cells and `precision_cls recall_cls f1_cls f0.5_cls` over
        classes, fractions in [0, 1], NaN where undefined; `undefined_classes`, the number of classes without a
        precision or a recall; `ignored`, the share of cells without agreement (None unless everything was asked);
        `unparsed`, of the replies that were given, the share that was neither yes nor no (None for given votes);
        `images`;
        `signature`; and when asked for `interval`, `classes`, `per_image`, and for `cells` the scores on them,
        `sampled`, with the `difference` (all cells less these).

    Raises:
        ValueError: for any bad input, before a model is loaded.
    """
    check_texts(predictions, references, image_ids)
    vocabulary = vocabularies.load(vocabulary)
    present = vocabulary.presence(references)
    conventions, resampling = Conventions(beta, class_f, all_average), Bootstrap(bootstrap, seed, level)
    run_by = Engine(engine, recheck, device, workers)
    if ask not in asking.ASK:
        raise ValueError(f"ask is {ask!r:.80}; expected {' or '.join(map(repr, asking.ASK))}.")
    scored = None if cells is None else _check_cells(cells, present)
    if votes is not None:
        answers = voting.check(votes, *present.shape).astype(np.int8)
        k = voting.required(agreement, answers.shape[-1])
        asked_by: dict[str, object] = {"judges": GIVEN, "questions": GIVEN}
    else:
        question_set = question_sets.load(questions)
        answers, k, asked_by = _judge(
            predictions, present, vocabulary, judges, question_set, agreement, ask, run_by, store, progress
        )
    labels = voting.label(*voting.count(answers), k)
    hits = Hits.of(labels, present)
    result: dict[str, Any] = _figures(hits, conventions)
    result |= {
        "ignored": float((labels == IGNORED).mean()) if votes is not None or ask == "all" else None,
        "unparsed": None
        if votes is not None
        else float((answers == OTHER).sum() / max(1, (answers != UNASKED).sum())),
        "undefined_classes": presence.undefined_classes(hits),
        "images": len(present),
        "signature": signature(
            "throne",
            vocabulary=vocabulary.name,
            images=len(present),
            **asked_by,
            agreement=f"{k}of{answers.shape[-1]}",
            beta=f"{conventions.beta:g}",
            class_f=class_f,
            all_average=all_average,
            cells="all"
            if scored is None
            else f"{scored.sum()}-{hashlib.sha256(scored.tobytes()).hexdigest()[:8]}",
            interval=resampling,
        ),
    }
    if bootstrap:
        result["interval"] = resampling.intervals(len(present), partial(presence.score, hits, conventions))
    if scored is not None:
        sampled = _figures(Hits.of(np.where(scored, labels, IGNORED), present), conventions)
        result["sampled"] = sampled
        result["difference"] = {name: result[name] - value for name, value in sampled.items()}
    if per_class:
        result["classes"] = _of_each_class(hits, beta, vocabulary)
    if per_image:
        result["per_image"] = _of_each_image(hits, present, labels, vocabulary)
    return result


def _judge(
    texts: Sequence[str],
    present: NDArray[np.bool_],
    vocabulary: Vocabulary,
    judges: str | Judge | Sequence[str | Judge],
    question_set: QuestionSet,
    agreement: str | int,
    which: str,
    run_by: Engine,
    store: AnswerStore | str | None,
    progress: bool,
) -> tuple[NDArray[np.int8], int, dict[str, object]]:
    """The answers of the judges, how many must agree, and what stands in the signature about both."""
    from halluscope.judges.resolve import named, resolve

    about = question_set.about(vocabulary)
    k = voting.required(agreement, len(named(judges)) * len(about))
    found = resolve(judges, vocabulary, run_by)
    if any(judge.stored for judge in found) and not isinstance(store, AnswerStore):
        store = AnswerStore(store)
    kept_in = store if isinstance(store, AnswerStore) else None
    shown = [question_set.cut(text) for text in texts]
    answers = asking.ask(found, about, shown, present, k, which, kept_in, progress)
    return answers, k, {"judges": [judge.key for judge in found], "questions": question_set.name}


def _check_cells(cells: ArrayLike, present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    table = np.asarray(cells)
    if table.shape != present.shape or table.dtype != bool:
        raise ValueError(
            f"cells is an array of {table.dtype} with the shape {table.shape}; expected bool {present.shape}: "
            "for each image and class whether the cell is in the sample."
        )
    return table


def _figures(hits: Hits, conventions: Conventions) -> dict[str, float]:
    return {name: float(value[0]) for name, value in presence.score(hits, conventions).items()}


def _of_each_class(hits: Hits, beta: float, vocabulary: Vocabulary) -> dict[str, dict[str, float]]:
    columns = presence.per_class(hits, beta)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {
        name: dict(zip(columns, row, strict=True)) for name, row in zip(vocabulary.classes, rows, strict=True)
    }


def _of_each_image(
    hits: Hits, present: NDArray[np.bool_], labels: NDArray[np.int8], vocabulary: Vocabulary
) -> list[dict[str, list[str]]]:
    tables = {
        "found": hits.true,
        "hallucinated": hits.predicted & ~present,
        "missed": present & (labels == 0),
    }
    return [
        {kind: [vocabulary.classes[i] for i in np.flatnonzero(table[row])] for kind, table in tables.items()}
        for row in range(len(present))
    ]
