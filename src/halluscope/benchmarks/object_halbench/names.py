"""From words and names of objects to COCO's classes; names as the authors' eval_gpt_obj_halbench.py takes them.

Each name is read after "a". If it holds a double word of the list of synonyms, or one of CHAIR's, only that counts,
otherwise its nouns do, and nouns side by side are one. The script reads names with spaCy's en_core_web_trf; this
package has a reader of nouns of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from halluscope.cores import map_texts
from halluscope.mentions.double_words import DOUBLE_WORDS
from halluscope.mentions.reading import CaptionReader, Mentions
from halluscope.reading.words.tokens import Word, forms_of

ARTICLE = "a "

ReadWords = Callable[[str], Sequence[Word]]


# What each response mentions; None for a response whose names are not known
OfResponses = Sequence[Mentions | None]


@dataclass(frozen=True)
class NameReader:
    """Reads names by a list of synonyms."""

    class_of: Mapping[str, str]  # word or double word -> class
    double_words: Mapping[tuple[str, str], str]  # two words -> the word that is read in their place
    words_of: ReadWords  # returns a text's words in their dictionary forms
    nouns_of: ReadWords  # returns its nouns

    @classmethod
    def of(cls, class_of: Mapping[str, str], words_of: ReadWords, nouns_of: ReadWords) -> "NameReader":
        """Return the reader of a list, whose words may have spaces around them, and capital letters."""
        plain = {word.strip().lower(): name for word, name in class_of.items()}
        double_words = dict(DOUBLE_WORDS)
        for word in plain:
            first, _, second = word.partition(" ")
            if second:
                double_words[first, second] = word
        return cls(plain, double_words, words_of, nouns_of)

    def read(self, names: Iterable[str]) -> Mentions:
        """Return what names mention: each word once."""
        words: dict[str, None] = {}  # in order
        for name in names:
            words.update(dict.fromkeys(self.words(name)))
        if "toilet" in words:  # a "seat" is then its seat
            words.pop("seat", None)
        mentions = Mentions([], [], [])
        for word in words:
            if word in self.class_of:
                mentions.words.append(word)
                mentions.objects.append(self.class_of[word])
                mentions.places.append(None)
        return mentions

    def words(self, name: str) -> list[str]:
        """Return the words of a name that may stand for a class."""
        text = ARTICLE + name
        words = self.double_words_in(forms_of(self.words_of(text)))
        if not words:
            words = joined(self.nouns_of(text), text)
        if self.class_of.keys().isdisjoint(words):
            itself = name.strip().lower()  # such as "sports ball", whose dictionary form the list lacks
            if itself in self.class_of:
                return [itself]
        return words

    def double_words_in(self, words: Sequence[str]) -> list[str]:
        """Return the double words, from the left."""
        doubles = []
        end = 0
        for place, pair in enumerate(pairwise(words)):
            if pair in self.double_words and place >= end:
                doubles.append(self.double_words[pair])
                end = place + 2
        return doubles


def joined(nouns: Iterable[Word], text: str) -> list[str]:
    """Return nouns; those with nothing but spaces between them are one.

    >>> joined([Word("kitchen", 2, 9), Word("counter", 10, 17), Word("cup", 22, 25)], "a kitchen counter and cup")
    ['kitchen counter', 'cup']
    """
    runs: list[str] = []
    end = -1  # of the noun before
    for noun in nouns:
        if end >= 0 and not text[end : noun.start].strip():
            runs[-1] += f" {noun.form}"
        else:
            runs.append(noun.form)
        end = noun.end
    return runs


def words_in(responses: Sequence[str], reader: CaptionReader) -> OfResponses:
    """Return what responses mention, word by word."""
    return list(map_texts(reader.read, responses))


def names_in(names: Sequence[Sequence[str] | None], reader: NameReader) -> OfResponses:
    """Return what the names of each response mention."""
    mentions: list[Mentions | None] = []
    for of_response in names:
        mentions.append(None if of_response is None else reader.read(of_response))
    return mentions
