"""Compare the nouns that the default reader of AMBER and OpenCHAIR finds in real texts with those of spaCy's taggers.

    python perf/nouns.py UPSTREAM [--model en_core_web_sm]...

UPSTREAM is a folder with the files of `TEXTS`. A noun is found by both if it stands in the same place; AMBER's words
are compared by their forms in a text. Each model, named or as a folder, needs the extra `spacy`; what the second finds
of the first one's nouns shows how far taggers agree. The rules were chosen with the texts marked *. A caption repeats
itself if it names one thing three times or more; such captions of OpenCHAIR are left out.
"""

import argparse
import csv
import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from halluscope.benchmarks.amber.words import load_words
from halluscope.reading.words import nouns
from halluscope.reading.words.tokens import Word, as_written, forms_of

OFTEN = 3
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

Nouns = list[list[Word]]


def main() -> None:
    """Print how many captions repeat themselves, and how far the readers agree on each file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--model", action="append", default=[], help="spaCy's model: a name, or a folder")
    options = parser.parse_args()
    captions = read(options.upstream / CAPTIONS)
    found = [Counter(forms_of(nouns.common_nouns(caption))) for caption in captions]
    repeating = {at for at, each in enumerate(found) if max(each.values(), default=0) >= OFTEN}
    held, everything = sum(found[at].total() for at in repeating), sum(each.total() for each in found)
    print(f"captions that name a thing three times or more: {len(repeating)} of {len(captions):,}")
    print(f"nouns in them: {held:,} of {everything:,}, {held / everything:.0%}")
    once = {caption for at, caption in enumerate(captions) if at not in repeating}
    for name, (file, rows) in TEXTS.items() if options.model else ():
        texts = [text for text in read(options.upstream / file)[rows] if file != CAPTIONS or text in once]
        readers = {"rules": [nouns.common_nouns(text) for text in texts]}
        readers |= {model: tagged(texts, model) for model in options.model}
        print(f"{name}, {len(texts):,} texts")
        for model in options.model:
            compare("rules", Path(model).name, readers["rules"], readers[model])
        for truth, model in pairwise(options.model):
            compare(Path(model).name, Path(truth).name, readers[model], readers[truth])


def read(file: Path) -> list[str]:
    """Read a file's texts."""
    with file.open(encoding="utf-8") as lines:
        if file.suffix == ".csv":
            return [row["generated_caption"] for row in csv.DictReader(lines)]
        rows = [json.loads(line) for line in lines]
    return [row.get("caption") or row["text"] for row in rows]


def tagged(texts: Sequence[str], model: str) -> Nouns:
    """Return the nouns that a model of spaCy finds, as in OpenCHAIR's script: in lower case, and without names."""
    # source: `extract_objs` in utils.py of assafbk/mocha_code
    import spacy

    tagger = spacy.load(model)
    nouns_of_texts = []
    for text in texts:
        words = [
            Word(token.lemma_, token.idx, token.idx + len(token.text))
            for token in tagger(text.lower())
            if token.pos_ == "NOUN"
        ]
        nouns_of_texts.append(as_written(words, text))
    return nouns_of_texts


def compare(reader: str, truth: str, found: Nouns, known: Nouns) -> None:
    """Print precision and recall of nouns and of mentions of AMBER's words."""
    places = [[Counter((noun.start, noun.end) for noun in each) for each in side] for side in (found, known)]
    mentions = [[Counter(filter(is_known, forms_of(each))) for each in side] for side in (found, known)]
    print(f"- {reader} against {truth}: nouns {shares(*places)}; AMBER's words {shares(*mentions)}")


def is_known(noun: str) -> bool:
    """Whether a noun is one of AMBER's words."""
    words = load_words()
    return words.spellings.get(noun, noun) in words.known


def shares(found: Sequence[Counter[Any]], known: Sequence[Counter[Any]]) -> str:
    """Return precision and recall in percent, and how many are found and known."""
    both = sum((ours & theirs).total() for ours, theirs in zip(found, known, strict=True))
    ours, theirs = (sum(each.total() for each in side) for side in (found, known))
    return f"{both / ours:.1%} precision, {both / theirs:.1%} recall ({ours:,}, {theirs:,})"


if __name__ == "__main__":
    main()
