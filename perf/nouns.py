"""Compare the nouns that the default reader of AMBER and OpenCHAIR finds in real texts with those of spaCy's taggers.

    python perf/nouns.py UPSTREAM [--model en_core_web_sm]...

UPSTREAM is a folder with the files of `TEXTS`. A noun is found by both if it stands in the same place; AMBER's words
are compared by their forms in a text. Each model, named or as a folder, needs the package spacy; what the second finds
of the first one's nouns shows how far taggers agree. The rules were chosen with the texts marked *. A caption repeats
itself if it names one thing three times or more; such captions of OpenCHAIR are left out.
"""

import argparse
import csv
import json
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from halluscope.benchmarks.amber.words import load_words
from halluscope.reading.words import nouns
from halluscope.reading.words.tokens import Word, as_written, forms_of

OFTEN = 3  # times that a caption names one thing, from which on it repeats itself
CAPTIONS = "openchair/example_gen_file.csv"
TEXTS = {
    "LLaVA-1.5 *": ("responses/opera_llava-1.5_greedy.jsonl", slice(None)),
    "LLaVA *": ("responses/pope_instruction1_llava.jsonl", slice(0, 600, 2)),
    "mPLUG-Owl *": ("responses/pope_instruction1_mplug.jsonl", slice(0, 600, 2)),
    "OpenCHAIR, even rows *": (CAPTIONS, slice(0, None, 2)),
    "OpenCHAIR, odd rows": (CAPTIONS, slice(1, None, 2)),
    "InstructBLIP": ("responses/pope_instruction1_instructblip.jsonl", slice(0, None, 2)),
    "MiniGPT-4": ("responses/pope_instruction1_minigpt-4.jsonl", slice(0, 600, 2)),
    "MultiModal-GPT": ("responses/pope_instruction1_mmgpt.jsonl", slice(0, 600, 2)),
    "AMBER, LLaVA-1.5": (
        "wild/Haoming2000__VLM-Benchmarks/AMBER-master__results__llava-v1.5-7b.jsonl",
        slice(None),
    ),
}


@dataclass(frozen=True)
class Reader:
    """What finds nouns, and those that it found in each text."""

    name: str
    nouns: list[list[Word]]

    def places(self) -> list[list[Hashable]]:
        """Return where the nouns of each text stand."""
        places: list[list[Hashable]] = []
        for nouns_of_text in self.nouns:
            places.append([(noun.start, noun.end) for noun in nouns_of_text])
        return places

    def known_words(self) -> list[list[Hashable]]:
        """Return which of AMBER's words are among the nouns of each text."""
        words: list[list[Hashable]] = []
        for nouns_of_text in self.nouns:
            words.append([form for form in forms_of(nouns_of_text) if is_known(form)])
        return words


def main() -> None:
    """Print how many captions repeat themselves, and how far the readers agree on each file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--model", action="append", default=[], help="spaCy's model: a name, or a folder")
    options = parser.parse_args()
    repeating = repeating_captions(options.upstream)
    if not options.model:
        return
    for name, (file, rows) in TEXTS.items():
        texts = read(options.upstream / file)[rows]
        if file == CAPTIONS:
            texts = [text for text in texts if text not in repeating]
        print(f"{name}, {len(texts):,} texts")
        rules = Reader("rules", [nouns.common_nouns(text) for text in texts])
        taggers = [tagged(texts, model) for model in options.model]
        for tagger in taggers:
            compare(rules, tagger)
        for truth, tagger in pairwise(taggers):
            compare(tagger, truth)


def repeating_captions(upstream: Path) -> set[str]:
    """Return OpenCHAIR's captions that name a thing often, and print how many they are."""
    captions = read(upstream / CAPTIONS)
    repeating = set()
    nouns_in_them = 0
    all_nouns = 0
    captions_in_them = 0
    for caption in captions:
        counts = Counter(forms_of(nouns.common_nouns(caption)))
        all_nouns += counts.total()
        if max(counts.values(), default=0) >= OFTEN:
            repeating.add(caption)
            captions_in_them += 1
            nouns_in_them += counts.total()
    print(f"captions that name a thing three times or more: {captions_in_them} of {len(captions):,}")
    print(f"nouns in them: {nouns_in_them:,} of {all_nouns:,}, {nouns_in_them / all_nouns:.0%}")
    return repeating


def read(file: Path) -> list[str]:
    """Read a file's texts."""
    with file.open(encoding="utf-8") as lines:
        if file.suffix == ".csv":
            return [row["generated_caption"] for row in csv.DictReader(lines)]
        rows = [json.loads(line) for line in lines]
    return [row.get("caption") or row["text"] for row in rows]


def tagged(texts: Sequence[str], model: str) -> Reader:
    """Return the nouns that a model of spaCy finds, as in OpenCHAIR's script: in lower case, and without names."""
    # source: `extract_objs` in utils.py of assafbk/mocha_code
    import spacy

    tagger = spacy.load(model)
    nouns_of_texts = []
    for text in texts:
        words = []
        for token in tagger(text.lower()):
            if token.pos_ == "NOUN":
                words.append(Word(token.lemma_, token.idx, token.idx + len(token.text)))
        nouns_of_texts.append(as_written(words, text))
    return Reader(Path(model).name, nouns_of_texts)


def compare(reader: Reader, truth: Reader) -> None:
    """Print precision and recall of nouns and of mentions of AMBER's words."""
    of_nouns = shares(reader.places(), truth.places())
    of_words = shares(reader.known_words(), truth.known_words())
    print(f"- {reader.name} against {truth.name}: nouns {of_nouns}; AMBER's words {of_words}")


def is_known(noun: str) -> bool:
    """Whether a noun is one of AMBER's words."""
    words = load_words()
    return words.spellings.get(noun, noun) in words.known


def shares(found: Sequence[Sequence[Hashable]], true: Sequence[Sequence[Hashable]]) -> str:
    """Return precision and recall in percent, and how many there are on each side."""
    common = 0
    for found_in_text, true_in_text in zip(found, true, strict=True):
        common += (Counter(found_in_text) & Counter(true_in_text)).total()
    all_found = sum(len(found_in_text) for found_in_text in found)
    all_true = sum(len(true_in_text) for true_in_text in true)
    return f"{common / all_found:.1%} precision, {common / all_true:.1%} recall ({all_found:,}, {all_true:,})"


if __name__ == "__main__":
    main()
