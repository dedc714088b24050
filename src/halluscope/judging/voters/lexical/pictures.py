"""Rules for objects that are only shown in a picture, and for pictures that are the image itself."""

from functools import cache

from halluscope.judging.voters.lexical.found import Found
from halluscope.judging.voters.lexical.scopes import phrase_start
from halluscope.judging.voters.lexical.tables import Cue, forms, grammar, words_of

PICTURE = Cue("depicted", "sentence", keeps_definite=True)


def shown_on(words: list[str], place: int, end: int) -> str:
    """Whether a mention is a picture on something: "a dog on the poster", "a mug with a cat on it"."""
    following = words[end] if end < len(words) else ""
    if following and following not in _before_surfaces():
        return ""
    on_sign = words[end - 1] in _on_signs()
    if (
        on_sign
        and (not following or following in words_of("depiction", "of_signs"))
        and _sign_has(words, place)
    ):
        return "depicted"
    end += words[end : end + 1] in (["is"], ["are"])
    end += words[end : end + 1] != [] and words[end] in words_of("depiction", "made")
    if words[end : end + 1] not in (["on"], ["in"], ["across"]):
        return ""
    surface = words[end + 1 : end + 4]
    determined = surface[:1] and (surface[0] in grammar().definite or surface[0] in grammar().indefinite)
    if determined and words_of("depiction", "surfaces").intersection(surface[1:]):
        return "depicted"
    if determined and on_sign and _is_sign(words, end + 2, end + 4):
        return "depicted"
    carried = any(
        (words[i] in words_of("depiction", "prints") or (on_sign and _is_sign(words, i, i + 1)))
        and words[i + 1] in {"with", "has", "have", "having"}
        for i in range(max(0, place - 9), place - 1)
    )
    itself = surface[:1] and surface[0] in {"it", "its", "them"}
    face = surface[:1] == ["the"] and {"front", "back", "cover", "side"}.intersection(surface[1:])
    return "depicted" if carried and (itself or face) else ""


def shares_surface(mention: Found, start: int, place: int, end: int) -> bool:
    """Whether a mention is on the surface of the one at `place`: "a cat and a dog on the poster"."""
    words = mention.sentence.words
    joined = mention.place_after == start - 1 and words[start - 1] == "and"
    return joined and shown_on(words, place, end) != ""


def _is_sign(words: list[str], first: int, end: int) -> bool:
    """Whether one of these words is a sign that may have a picture."""
    signs = words_of("depiction", "signs")
    return any(words[i] in signs and words[i - 1] != "stop" for i in range(first, min(end, len(words))))


def _sign_has(words: list[str], place: int) -> bool:
    """Whether a sign has the mention: "a sign with a cow"."""
    start = phrase_start(words, 0, place)
    return start > 1 and words[start - 1] in {"with", "has", "have"} and _is_sign(words, start - 2, start - 1)


@cache
def _before_surfaces() -> frozenset[str]:
    """Return the words after a mention that may lead to what it is pictured on."""
    verbs = words_of("depiction", "made") | words_of("depiction", "of_signs")
    return verbs | {"is", "are", "on", "in", "across"}


@cache
def _on_signs() -> frozenset[str]:
    return frozenset(form for word in words_of("depiction", "on_signs") for form in forms(word))


def pictured_beside(words: list[str], start: int) -> str:
    """Whether a mention says what a picture before it shows: "the logo, a bicycle in neon", "the mural: two horses"."""
    if start < 2 or words[start - 1] not in words_of("depiction", "tells"):
        return ""
    pictures = words_of("depiction", "emblems")
    if words[start - 1] != ",":
        pictures |= words_of("depiction", "surfaces") | words_of("depiction", "artworks")
    before = words[max(0, start - 6) : start - 1]
    # "the logo of the shop, a dog"
    picture = before[before.index("of") - 1] if "of" in before[1:] else before[-1]
    return "depicted" if picture in pictures else ""


def cue_applies(cue: Cue, words: list[str], place: int) -> bool:
    """Whether a cue applies here; a cue such as "shows" needs a picture before it: "the poster shows a dog"."""
    if not cue.after:
        return cue.rule != "depicted" or not _is_the_image(words, place)
    before = [i for i in range(max(0, place - cue.near), place) if words[i] in cue.after]
    if not before:
        return False
    start = phrase_start(words, 0, before[-1])
    if start and words[start - 1] in words_of("depiction", "beside"):
        return False
    whole = words[: place - 1] == ["the"] or (
        words[0] == "this" and before[-1] < 8 and "of" not in words[:place]
    )
    itself = before[-1] == place - 1 and words[place - 1] in words_of("depiction", "artworks")
    return not (itself and whole)


def _is_the_image(words: list[str], place: int) -> bool:
    """Whether a photo is the image itself, or is being taken: "a black and white photo of a dog"."""
    named = words[:2] in (["this", "is"], ["it", "is"]) or words[1:3] == ["image", "is"]
    if words[place] in words_of("depiction", "artworks"):
        on = any(words[i] == "on" and _is_sign(words, i + 2, i + 4) for i in range(place, len(words)))
        return named and not on and _framed(words, place)
    if words[place] not in words_of("depiction", "photographs"):
        return False
    if words_of("depiction", "taking").intersection(words[max(0, place - 3) : place]):
        return True
    opens = _framed(words, place) or (place < 4 and words[0] not in grammar().definite)
    return opens and not words_of("depiction", "placed").intersection(words)


def _framed(words: list[str], place: int) -> bool:
    """Whether only words as in "This is a black and white ..." come before the word at `place`."""
    return place <= 12 and words_of("depiction", "frame").issuperset(words[:place])


def opens_picture(words: list[str]) -> int:
    """Return where a sentence goes on after a picture: "On the poster, a dog ..."; 0 if it does not begin with one.

    "Painted on the bus is a dog" begins with a picture too.
    """
    if words[0] in words_of("depiction", "made") and words[1:2] and words[1] in words_of("depiction", "onto"):
        return next(
            (i + 1 for i in range(2, min(16, len(words))) if words[i] in {"is", "are", "was", "were", ","}), 0
        )
    determined = words[1:2] != [] and (words[1] in grammar().definite or words[1] in grammar().indefinite)
    if words[0] not in {"on", "in", "across"} or not determined:
        return 0
    surface = next(
        (i for i in range(2, min(5, len(words))) if words[i] in words_of("depiction", "surfaces")), 0
    )
    following = words[surface + 1] if surface and surface + 1 < len(words) else ""
    return surface + 1 + (following == ",") if following == "," or following in grammar().indefinite else 0
