"""Finds the rows that responses without an image belong to, by the questions that they state in their order."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

# The place of a row that is not there, before all others
NOWHERE = -1


@dataclass(frozen=True)
class Asked:
    """What one row of the dataset asks."""

    image: Hashable
    question: str
    answer: object  # the right answer, for questions that are asked twice about one image


def in_order(asked: Sequence[Asked], questions: Sequence[str]) -> list[int]:
    """Return the first rows if the responses are in the dataset's order, else what `image_by_image` returns.

    In the dataset's order, it does not matter that a question is asked twice about an image.
    """
    count = min(len(asked), len(questions))
    if all(row.question == question for row, question in zip(asked, questions[:count], strict=False)):
        return list(range(count))
    return image_by_image(asked, questions)


def image_by_image(asked: Sequence[Asked], questions: Sequence[str]) -> list[int]:
    """Return the rows that the first responses answer, up to the first response that fits no row.

    Responses come image by image as the rows do, within an image in nearly any order. A question that two images share
    begins the second if the first had it earlier, or if it is the second's first question and nothing of the first
    follows.

    Args:
        asked: the dataset's rows, in their order.
        questions: the question that each response states.

    Returns:
        The indices of the rows, one for each of the first responses.
    """
    blocks = _blocks(asked)
    blocks.append(_Block(asked, []))
    padded = list(questions) + list(questions[-1:])
    rows: list[int] = []
    number = 0
    last = NOWHERE  # the last row of the image that was answered
    for turn, question in enumerate(questions):
        block = blocks[number]
        following = blocks[number + 1]
        if following.asks(question):
            if block.asked_twice(question):
                break  # it may be the second one of this image, or the next image's
            if block.first(question) < last or _begins(following, question, block, padded[turn + 1]):
                number += 1
                block = following
                last = NOWHERE
        place = block.first(question)
        if place == NOWHERE or block.is_doubtful(question):
            break
        block.take(question)
        rows.append(place)
        last = max(place, last)
    return rows


def images_in_any_order(
    asked: Sequence[Asked], questions: Sequence[str], answers: Sequence[str]
) -> list[int]:
    """Return the rows that the first responses answer, up to the first response that fits no row.

    Responses come image by image, and images in any order. Of images with the same questions, the first is taken that
    has the right answers that the responses state; where these do not decide which answers are right, none is taken.

    Args:
        asked: the dataset's rows, as many about each image.
        questions: the question that each response states.
        answers: the right answer that each response states; "" for none.

    Returns:
        The indices of the rows, one for each of the first responses.
    """
    places_of: dict[Hashable, list[int]] = {}
    for place, row in enumerate(asked):
        places_of.setdefault(row.image, []).append(place)
    alike: dict[Hashable, list[_AnsweredImage]] = {}  # by their questions
    sizes = set()
    for places in places_of.values():
        image = _AnsweredImage(asked, places)
        alike.setdefault(frozenset(image.answers), []).append(image)
        sizes.add(len(image.answers))
    if len(sizes) != 1:
        return []
    (size,) = sizes
    rows: list[int] = []
    for begin in range(0, len(questions), size):
        stated = dict(zip(questions[begin : begin + size], answers[begin : begin + size], strict=True))
        candidates = alike.get(frozenset(stated), [])
        fitting = [image for image in candidates if image.has(stated)]
        if not fitting or any(image.answers != fitting[0].answers for image in fitting):
            break
        candidates.remove(fitting[0])
        for question in stated:
            rows.append(fitting[0].places[question])
    return rows


class _AnsweredImage:
    """The questions about an image, with their places among the rows and their right answers."""

    def __init__(self, asked: Sequence[Asked], places: Sequence[int]) -> None:
        self.places: dict[str, int] = {}
        self.answers: dict[str, str] = {}
        for place in places:
            row = asked[place]
            self.places[row.question] = place
            self.answers[row.question] = str(row.answer).casefold()

    def has(self, stated: Mapping[str, str]) -> bool:
        """Whether stated right answers, where there are any, are the image's."""
        return all(answer in ("", self.answers[question]) for question, answer in stated.items())


class _Block:
    """The rows of one image that are not answered yet."""

    def __init__(self, asked: Sequence[Asked], places: Sequence[int]) -> None:
        self._asked = asked
        self._begin = places[0] if places else NOWHERE
        self._places: dict[str, list[int]] = {}
        for place in places:
            self._places.setdefault(asked[place].question, []).append(place)
        self._twice = {question for question, same in self._places.items() if len(same) > 1}

    def asks(self, question: str) -> bool:
        return question in self._places

    def first(self, question: str) -> int:
        """Return the first row with a question that is not answered yet, or `NOWHERE`."""
        return self._places[question][0] if question in self._places else NOWHERE

    def starts_with(self, question: str) -> bool:
        """Whether a question is the image's first, and not answered yet."""
        return question in self._places and self._places[question][0] == self._begin

    def asked_twice(self, question: str) -> bool:
        return question in self._twice

    def is_doubtful(self, question: str) -> bool:
        """Whether rows with one question have different right answers, so that it matters which is meant."""
        return len({self._asked[place].answer for place in self._places[question]}) > 1

    def take(self, question: str) -> None:
        """Note that the first row with a question is answered."""
        places = self._places[question]
        del places[0]
        if not places:
            del self._places[question]


def _begins(following: _Block, question: str, block: _Block, after: str) -> bool:
    """Whether a question is the first about the following image, and the one `after` it is not about this image."""
    return following.starts_with(question) and after != question and not block.asks(after)


def _blocks(asked: Sequence[Asked]) -> list[_Block]:
    blocks = []
    for _, places in groupby(range(len(asked)), key=lambda place: asked[place].image):
        blocks.append(_Block(asked, list(places)))
    return blocks
