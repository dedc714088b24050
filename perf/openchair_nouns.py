"""Compare the nouns that OpenCHAIR's dictionary finds in real captions with those that spaCy's tagger finds.

    python perf/openchair_nouns.py UPSTREAM [--model en_core_web_sm]

UPSTREAM is a folder with openchair/example_gen_file.csv, the 2,000 example captions of assafbk/mocha_code. A caption
repeats itself if it names one thing three times or more. The comparison with spaCy needs the extra `spacy` and its
model, named or as a folder; without `--model` it is left out.
"""

import argparse
import csv
from collections import Counter
from pathlib import Path

from halluscope.reading.words import nouns, spacy_nouns
from halluscope.reading.words.word import forms_of

OFTEN = 3


def main() -> None:
    """Print how many captions repeat themselves, and in how many nouns the readers agree on the others."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--model", help="spaCy's model: a name, or a folder")
    options = parser.parse_args()
    with (options.upstream / "openchair" / "example_gen_file.csv").open(encoding="utf-8") as file:
        captions = [row["generated_caption"] for row in csv.DictReader(file)]
    found = [Counter(forms_of(nouns.common_nouns(caption))) for caption in captions]
    repeating = [max(each.values(), default=0) >= OFTEN for each in found]
    held = sum(each.total() for each, repeats in zip(found, repeating, strict=True) if repeats)
    everything = sum(each.total() for each in found)
    print(f"captions that name a thing three times or more: {sum(repeating)} of {len(captions):,}")
    print(f"nouns in them: {held:,} of {everything:,}, {held / everything:.0%}")
    if options.model:
        spacy_nouns.MODEL = options.model
        pairs = zip(captions, found, strict=True)
        _compare([pair for pair, repeats in zip(pairs, repeating, strict=True) if not repeats])


def _compare(captions: list[tuple[str, Counter[str]]]) -> None:
    """Print how many of the tagger's nouns the dictionary finds, and how many of the dictionary's the tagger finds."""
    tagged = [Counter(forms_of(spacy_nouns.common_nouns(caption))) for caption, _ in captions]
    both = sum((ours & theirs).total() for (_, ours), theirs in zip(captions, tagged, strict=True))
    ours, theirs = sum(each.total() for _, each in captions), sum(each.total() for each in tagged)
    print(f"in the other captions, against {Path(spacy_nouns.MODEL).name}:")
    print(f"- of the tagger's {theirs:,} nouns the dictionary finds {both:,}, {both / theirs:.1%}")
    print(f"- of the dictionary's {ours:,} nouns the tagger finds {both:,}, {both / ours:.1%}")


if __name__ == "__main__":
    main()
