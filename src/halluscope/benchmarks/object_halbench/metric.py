"""Object HalBench: object hallucination in detailed descriptions (Yu et al., RLHF-V, CVPR 2024).

A judge lists the names of the objects that a response says are visible. Names become COCO's classes by a list of
synonyms, and a mention of a class that is not in the image is hallucinated. Rules read words as CHAIR does instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from halluscope import vocabularies
from halluscope.benchmark import Column, Dataset, Judges, Part, Preset, Score
from halluscope.benchmarks.object_halbench import reading
from halluscope.benchmarks.object_halbench.counting import (
    FALSE,
    FOUND,
    MENTIONS,
    PRESENT,
    counts_of,
)
from halluscope.benchmarks.object_halbench.data import IMAGES, Image, are_prompts, read_names
from halluscope.benchmarks.object_halbench.names import NameReader, OfResponses, names_in, words_in
from halluscope.benchmarks.object_halbench.reading import FEW_WORDS, NAMES, PROMPTS
from halluscope.judged import AUTHORS, OURS, PART, Adds, Judged, JudgedOptions
from halluscope.judged import Readings as JudgedReadings
from halluscope.judging.options import GIVEN, judge_option, max_tokens_option
from halluscope.judging.verdict_prompts import VerdictPrompt
from halluscope.judging.verdicts import NOBODY, UNREAD_REPLY, Criterion, Verdicts
from halluscope.mentions import synonyms
from halluscope.mentions.nothing_named import warn_if_nothing_is_named
from halluscope.mentions.reading import NOTHING, CaptionReader
from halluscope.mentions.synonyms import Synonyms, allow_other_option, check_allow_other
from halluscope.metric import Scores
from halluscope.options import check_effect, option, takes, usual_values
from halluscope.paths import path_of
from halluscope.reading.words import readers
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.sanitize import encodable
from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.row_order import warn_if_shuffled
from halluscope.validation import listed, paired, texts, warn_of_a_part

RULES = "rules"

# The published lists of synonyms, the default first
LISTS = (synonyms.REFINED, synonyms.OFFICIAL)


def check_reader(name: Any) -> None:
    """Check the name of what reads words and names."""
    readers.check(name, readers.NOUNS)


@dataclass(frozen=True)
class ObjectHalBenchOptions(JudgedOptions):
    """The options of Object HalBench's metric."""

    judge: Any = judge_option(RULES, "rules (default)")
    max_tokens: int = max_tokens_option(1024)
    prompts: str | None = option(
        None,
        "whose wording of the prompt to use: ours (default) or authors (with --script)",
        about='whose wording of the prompt to use: "ours", or "authors", which needs `script`',
        choices=tuple(PROMPTS),
    )
    script: str | Path | None = option(
        None,
        "the authors' eval_gpt_obj_halbench.py, which holds their words for --prompts authors; it is read, never run",
        about='the authors\' eval_gpt_obj_halbench.py: prompts="authors" asks in its words, and they are checked',
        kinds=str | Path | None,
        what="the path of the authors' eval_gpt_obj_halbench.py, or None",
        metavar="FILE",
    )
    synonyms: str | Path | None = option(
        None,
        "the refined list of synonyms (default: fetched once, and checked), or CHAIR's; names: the class names alone",
        about="the file of the refined list of synonyms, or of CHAIR's; by default the refined one is fetched once and "
        'kept in the user\'s cache; "names" takes the class names alone',
        check=synonyms.check_path,
        metavar="FILE",
    )
    allow_other_synonyms: bool = allow_other_option()
    reader: str = option(
        readers.LEMMINFLECT,
        "what reads words and names: lemminflect (default), or nltk (extra nltk, and nltk's data)",
        about='what reads the words of responses, or of names: "lemminflect", a dictionary with rules; or "nltk", '
        "which tags words and looks them up in WordNet as CHAIR's script since OPERA does",
        check=check_reader,
        metavar="NAME",
    )
    objects: Sequence[Any] | None = option(
        None,
        "a file for each of --responses, with image_id and objects, a list of names; no response is read then",
        about="the names of the objects in each response, one list per row; None for a response whose names are not "
        "known. If given, no judge is asked and no response is read",
        many=True,
        metavar="FILE",
        each=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_allow_other(self.synonyms, self.allow_other_synonyms)
        if self.prompts != AUTHORS or self.objects is not None:
            why = "no judge is asked in the authors' words, which takes prompts='authors' and no objects"
            check_effect({"script": self.script}, ["script"], why)

    @property
    def given(self) -> Sequence[Any] | None:
        return self.objects


@dataclass(frozen=True)
class Named:
    """The names of the objects in each response, and who named them."""

    repeats: list[list[list[str] | None]]  # of each repeat, of each row; None where they are not known
    key: Any  # as in a signature
    drawn: Mapping[str, str] = field(default_factory=dict)  # the seeds of a language model's replies
    by_model: bool = False
    # the number of a row -> the reply in which no names can be read, in the first repeat; "" where there is none
    unread: Mapping[int, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[dict[str, Any]]:
        """What a language model says of each response, in the first repeat; empty if no model was asked."""
        if not self.by_model:
            return []
        notes: list[dict[str, Any]] = []
        for number, names in enumerate(self.repeats[0]):
            notes.append({NAMES: names})
            if self.unread.get(number):
                notes[-1][UNREAD_REPLY] = encodable(self.unread[number])
        return notes


@dataclass(frozen=True)
class Readings(JudgedReadings):
    """The responses, what they mention, and by what they were read."""

    mentions: OfResponses  # of the first repeat
    read_by: Mapping[str, str]  # the list of synonyms, and what reads words or names, as in a signature


class ObjectHalBench(Judged):
    name = "object_halbench"
    title = "Object HalBench"
    description = """\
Object HalBench asks for detailed descriptions of 300 images of COCO. A judge lists the objects that each one names, and
those that stand for one of COCO's 80 classes are compared with what is in the image, by annotations and captions.
The headline is the share of descriptions with a hallucinated object, among those that name a COCO object.
"""
    citation = """\
@inproceedings{yu2024rlhfv,
  title={{RLHF-V}: Towards Trustworthy {MLLMs} via Behavior Alignment from Fine-grained Correctional Human Feedback},
  author={Yu, Tianyu and Yao, Yuan and Zhang, Haoye and He, Taiwen and Han, Yifeng and Cui, Ganqu and Hu, Jinyi and
          Liu, Zhiyuan and Zheng, Hai-Tao and Sun, Maosong and Chua, Tat-Seng},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  year={2024}
}
"""
    links = ("https://arxiv.org/abs/2312.00849", "https://github.com/RLHF-V/RLAIF-V")
    licence = "The authors' prompt and list of synonyms are read from the user's copies."

    principal = "chair_s_refine"
    presets = {
        "preference": Preset(
            1,
            (
                Column("chair_s_refine", "Resp."),
                Column("chair_i", "Ment."),
            ),
        )
    }
    scores = {
        "chair_s_refine": Score("lower", is_mean=True),
        "chair_s": Score("lower", is_mean=True),
        "chair_i": Score("lower"),
        "recall": Score("higher"),
        "named": Score(is_mean=True),
        "unreadable": Score("lower", is_mean=True),
    }
    max_new_tokens = 1024
    target = "objects"
    datasets = (
        Dataset(
            "object_halbench",
            id=("image_id",),
            columns=IMAGES.needed,
            own=("objects",),
        ),
    )
    judges = Judges(
        "verdicts",
        default=RULES,
        rules=(RULES,),
        published="gpt-3.5-turbo-0613, which is retired and can no longer be asked",
    )
    options_type = ObjectHalBenchOptions
    table = IMAGES
    rows_published = 300
    criteria = tuple(Criterion(name, int) for name in (MENTIONS, FALSE, FOUND, PRESENT))
    notes = {NAMES: []}
    judge_prompts = PROMPTS
    counted = {
        "chair_s": ("responses", "hallucinated"),
        "named": ("responses", "named"),
        MENTIONS: ("responses", "mentions"),
        FALSE: ("responses", "false_mentions"),
        FOUND: ("responses", "found"),
        PRESENT: ("responses", "present"),
    }

    # The dataset's rows

    def inputs(  # type: ignore[override]
        self, rows: Sequence[Image], *, objects: Any = None, response_texts: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return the arguments of `compute` for rows; a file of names is read for them.

        Args:
            response_texts: the responses; () if they are not known.
        """
        if objects is None:
            return {"references": rows}
        if isinstance(objects, str | Path):
            objects = read_names(path_of(objects), rows, response_texts)
        return {"references": rows, "objects": objects}

    def known(self, questions: Sequence[str]) -> Part | None:
        """Say of which dataset some questions are; None if they are not this benchmark's."""
        if not are_prompts(questions):
            return None
        return Part(self.name)

    def shown(self, row: Image) -> dict[str, Any]:
        return {"image_id": row.image_id}

    def identity(self, row: Image) -> tuple[Any, ...]:
        return (row.image_id, row.question, sorted(row.objects))

    # What responses mention

    def judge_prompt(self, options: ObjectHalBenchOptions, of_given_texts: bool = False) -> VerdictPrompt:
        if options.prompts != AUTHORS:
            return PROMPTS[OURS]
        if options.script is None:
            raise ValueError(
                "prompts is 'authors', and no script is named; expected the path of the authors' "
                f"eval_gpt_obj_halbench.py as script (--script FILE), which holds their words: {reading.SCRIPT_URL}."
            )
        return replace(reading.AUTHORS, template=reading.load_template(options.script))

    def fields(self, row: Image) -> dict[str, Any]:
        return {"question": row.question}

    def read(self, texts: Sequence[str], rows: Sequence[Image], options: ObjectHalBenchOptions) -> Readings:
        warn_of_a_part(len(rows), self.rows_published)
        synonym_list = synonyms.load(options.synonyms, options.allow_other_synonyms, LISTS)
        if options.given is None and options.named((RULES,)):
            return self.read_words(texts, rows, synonym_list, options)
        return self.read_names(texts, rows, synonym_list, options)

    def read_words(
        self,
        texts: Sequence[str],
        rows: Sequence[Image],
        synonym_list: Synonyms,
        options: ObjectHalBenchOptions,
    ) -> Readings:
        """Read the words of responses; no model is asked."""
        words = readers.load(options.reader, readers.WORDS)
        self.check_unasked(options, f"{RULES!r} gives the same verdicts each time and asks no model")
        mentions = words_in(texts, CaptionReader(synonym_list.class_of, words.read))
        verdicts = Verdicts(self.criteria, counts_of([mentions], rows), RULES)
        read_by = {"synonyms": synonym_list.name, "lemmas": words.version}
        return Readings(texts, verdicts, mentions, read_by)

    def read_names(
        self,
        texts: Sequence[str],
        rows: Sequence[Image],
        synonym_list: Synonyms,
        options: ObjectHalBenchOptions,
    ) -> Readings:
        """Read the names of objects that the user gives, or that a language model lists."""
        words = readers.load(options.reader, readers.WORDS)
        nouns = readers.load(options.reader, readers.NOUNS)
        if options.given is not None:
            named = self.given_names(options, len(rows))
        else:
            named = self.ask_names(texts, rows, options)
        reader = NameReader.of(synonym_list.class_of, words.read, nouns.read)
        repeats = [names_in(names, reader) for names in named.repeats]
        verdicts = Verdicts(self.criteria, counts_of(repeats, rows), named.key, named.drawn, named.notes)
        read_by = {"synonyms": synonym_list.name, "nouns": nouns.version}
        return Readings(texts, verdicts, repeats[0], read_by)

    def check_unasked(self, options: ObjectHalBenchOptions, why: str) -> None:
        """Refuse options that only matter to a language model, because none is asked."""
        self._check_asking(options, why)
        check_effect(vars(options), self.reply_options, why)

    def given_names(self, options: ObjectHalBenchOptions, rows: int) -> Named:
        """Return the names that the user gives."""
        why = "the objects are given, so nobody is asked"
        self.check_unasked(options, why)
        if options.judge != NOBODY:
            check_effect(vars(options), ["judge"], why, usual_values(ObjectHalBenchOptions))
        names: list[list[str] | None] = []
        for row, value in enumerate(listed("objects", options.objects, "a list of names per row", rows)):
            names.append(None if value is None else texts(f"objects[{row}]", value))
        return Named([names], GIVEN)

    def ask_names(self, texts: Sequence[str], rows: Sequence[Image], options: ObjectHalBenchOptions) -> Named:
        """Ask a language model which objects each response names; one of few words names none."""
        options.prepare((RULES,))
        prompt = self.judge_prompt(options)
        asked = []
        specs = []
        for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
            if len(text.split()) > FEW_WORDS:
                asked.append(number)
                specs.append(prompt.ask(self.fields(row), text))
        collected = options.collect(specs)
        repeats = []
        for replies in collected.verdicts:
            names: list[list[str] | None] = [[] for _ in rows]
            for number, verdict in zip(asked, replies, strict=True):
                names[number] = None if verdict is None else verdict.notes[NAMES]
            repeats.append(names)
        unread = dict(zip(asked, collected.unread[0], strict=True))
        return Named(repeats, [options.chat.key, prompt.key], options.drawn, by_model=True, unread=unread)

    # Scores

    def adds(self, values: Mapping[str, Floats]) -> dict[str, Adds]:
        is_read = ~np.isnan(values[MENTIONS])
        names_object = values[MENTIONS] > 0
        is_hallucinated = values[FALSE] > 0
        adds = {
            "chair_s_refine": Adds(is_hallucinated, names_object),
            "chair_s": Adds(is_hallucinated, is_read),
            "named": Adds(names_object, is_read),
        }
        for criterion in self.criteria:
            adds[criterion.name] = Adds(np.nan_to_num(values[criterion.name]), is_read)
        return adds

    def by_repeat(self, sums: Counts) -> Scores:
        means = super().by_repeat(sums)
        return {
            "chair_s_refine": means["chair_s_refine"],
            "chair_s": means["chair_s"],
            "chair_i": ratio(sums[FALSE][..., PART], sums[MENTIONS][..., PART]),
            "recall": ratio(sums[FOUND][..., PART], sums[PRESENT][..., PART]),
            "named": means["named"],
            self.unread: means[self.unread],
            MEAN_WORDS: means[MEAN_WORDS],
        }

    # What else a result holds

    def facts(
        self, rows: Sequence[Image], readings: Readings, total: Counts, options: ObjectHalBenchOptions
    ) -> dict[str, Any]:
        facts = super().facts(rows, readings, total, options)
        if options.per_question:
            for question, row, mentions in zip(facts["per_question"], rows, readings.mentions, strict=True):
                if mentions is None:
                    question.update(NOTHING.shown(()))  # a response that is not read misses nothing
                else:
                    question.update(mentions.shown(row.objects))
        return facts

    def warn(
        self,
        texts: Sequence[str],
        rows: Sequence[Image],
        readings: Readings,
        result: dict[str, Any],
        options: ObjectHalBenchOptions,
    ) -> None:
        super().warn(texts, rows, readings, result, options)
        mentioned = []
        names_object = []
        for mentions in readings.mentions:
            mentioned.append(mentions.objects if mentions else [])
            names_object.append(mentions is None or bool(mentions.objects))
        vocabulary = vocabularies.load("coco")
        warn_if_shuffled(
            vocabulary.presence(mentioned), vocabulary.presence([list(row.objects) for row in rows])
        )
        warn_if_nothing_is_named(texts, names_object)

    def signed(
        self, rows: Sequence[Image], readings: Readings, options: ObjectHalBenchOptions
    ) -> dict[str, Any]:
        signed = super().signed(rows, readings, options)
        signed.update(readings.read_by)
        return signed


METRIC = ObjectHalBench()


@takes(ObjectHalBenchOptions)
def compute(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score an LVLM's descriptions of Object HalBench's images (Yu et al., CVPR 2024).

    The default judge, "rules", asks no model: it reads a response word by word as CHAIR does, and each occurrence of a
    word is a mention. A language model is asked which objects a response says are visible; then each word that a name
    holds is one mention of the response.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order, with the COCO classes of each image as
            `objects`.
        options: the fields of `ObjectHalBenchOptions`, by name.

    Returns:
        Fractions in [0, 1]: `chair_s_refine`, the share of responses that mention a class that is not in the image,
        among the responses that mention any (the papers' "Resp.", if it is not printed as 100 minus this);
        `chair_s`, the same among all responses; `chair_i`, the share of mentions of such a class among all mentions
        ("Ment."); lower is better. `recall`, the share of the classes in the images that are mentioned, pooled.
        `named`, the share of responses that mention any class. `unreadable`, the share of responses whose names a judge
        did not give readably; they count in no score. `counts`, under "all", summed over the repeats: the `responses`
        that count, those that are `hallucinated` or `named` an object, the `mentions`, the `false_mentions`, and the
        classes `found` and `present`.
        A score of nothing is NaN. Also `questions`, `images`; `mean_words`, the mean length of the responses;
        `thoughts`, how many responses held thoughts that were removed; `unfinished_thoughts`, how many are a thought
        without an end; `speaks_to_judge`, the ids of rows whose responses seem to speak to a judge; `signature`;
        `verdicts`, a digest of a language model's verdicts; `interval` with a bootstrap, which leaves out one image at
        a time; `spread` with repeats, the least and greatest value of each score; and `per_question` if requested, with
        what each response mentions.

    Raises:
        ValueError: for any bad input, and for a list of synonyms or a script that is not the published one, before a
            model is asked.
        MissingExtra: without nltk, if it reads (pip install 'halluscope[nltk]').
        FileNotFoundError: if `synonyms`, `script` or nltk's data do not exist.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    responses, references = paired(predictions, references)
    rows = IMAGES.read_all(references)
    vocabularies.load("coco").presence([list(row.objects) for row in rows])  # an unknown class is an error
    return METRIC.evaluate(responses, rows, METRIC.chosen(options))
