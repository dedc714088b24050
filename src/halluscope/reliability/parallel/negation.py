"""Negates yes/no questions, and their answers (HQM, section III.A). Refuses questions that cannot be negated safely.

"Isn't it red?" and "Is there no dog?" do not turn an English yes into a no, so a negated question asks about a
statement: "Is it true that there is no dog in the image?", "Is it false that the top line is longer than the bottom
line?". A question becomes a statement only if a rule can see where its subject ends.
"""

import random
import re
from collections.abc import Callable, Sequence

TRUE = ("true", "correct")
FALSE = ("false", "untrue")
OPPOSITE = {"yes": "no", "no": "yes", "1": "0", "0": "1"}

_ASKED = re.compile(
    r"(?P<before>(?:.*?(?:[.,:;]\s+|\n))?(?:then )?)(?P<verb>is|are|was|were|does|do|did) (?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_LED = re.compile(rf"it (?P<lead>{'|'.join(TRUE + FALSE)}) that (?P<statement>.+)", re.DOTALL)
_NEGATIVE = re.compile(r"(?:\w+ )?(?:no|not|never)\b", re.IGNORECASE)
_CHOICE = re.compile(r"\bor (?:not|is|are|was|were|does|do|did)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|should"
    r"|what|which|who|whose|where|when|why|how)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\S+")
# "No dog and a cat" and "no lot of dogs" would have another meaning.
_NONE = re.compile(
    r"there (?:an?|any|some) (?P<what>(?!.*(?:,|\b(?:and|or|but|both|either|that|which|who)\b))"
    r"(?!(?:lot|couple|number|few|little|bit|dozen|hundred|thousand|majority|single|maximum|minimum)\b).+)",
    re.DOTALL,
)
_BE = ("is", "are", "was", "were")

_ARTICLE = r"(?:an?|the)"
_PICTURE = r"(?:image|picture|photo|photograph|figure|scene|chart|map|table|graph|poster)"
_MORE = (
    r"(?:(?:much|slightly|significantly) )?(?:(?:more|less|fewer)(?: [a-z]+)?|(?!other|rather)[a-z]+er) than "
)
# Accepts no bare plural as a subject, and below no predicate that ends in a participle: "Are children younger than ten
# allowed?"
_NOUN = r"(?:(?:the|this|that|these|those|an?|its|his|her|their|one|two|three|four|five|six)\b|[^a-z])"
_SUBJECT_BE = (
    re.compile(r"(?P<subject>there|it|he|she|they|we|you) (?P<predicate>.+)", re.IGNORECASE | re.DOTALL),
    re.compile(
        rf"(?P<subject>this|that|these|those|(?:this|the) {_PICTURE}) (?P<predicate>{_ARTICLE} .+)",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        rf"(?P<subject>{_NOUN}.*?) (?P<predicate>(?:{_MORE}|the same |equal to )"
        r".++(?<![a-z]{3}ed)(?<![a-z]{3}ing)(?<![a-z]{3}ible)(?<![a-z]{3}able))",
        re.DOTALL,
    ),
)
_SUBJECT_DO = (
    re.compile(r"(?P<subject>it|he|she|they|we|you) (?P<predicate>.+)", re.IGNORECASE | re.DOTALL),
    re.compile(
        rf"(?P<subject>(?:this|the) {_PICTURE}) (?P<predicate>(?:only |also )?"
        r"(?:show|contain|depict|have|include|feature|display|illustrate|represent) .+)",
        re.IGNORECASE | re.DOTALL,
    ),
)

# Below, a subject is a name, or a few words with no room for a clause. A predicate begins with words that cannot be
# part of a subject, and ends with a name or a noun that nothing can follow.
_WORD_OF_NAME = r"(?:(?:[A-Z]|\d)[\w'’.&-]*)"
_NAME = rf"{_WORD_OF_NAME}(?:,? (?:(?:of|of the|and|the|van|de) )?{_WORD_OF_NAME})*"
_PLAIN = rf"{_WORD_OF_NAME}(?: {_WORD_OF_NAME}){{0,3}}"  # one name, without commas and small words
_NAMED = rf"(?:(?:the |The )?{_PLAIN})"
_RANK = r"(?:(?:second|third|fourth|fifth) )?(?:[a-z]+est|[a-z]+most|most|least|only|top|leading|second-[a-z]+est)"
_THIS = (  # the subject is "this" in "Is this good for Bob?", but "this poster" in "Is this poster for Bob?"
    r"this (?:poster|logo|image|picture|photo|sign|restaurant|shop|store|pizza|cake|cheese|ham|building|flag|ad|menu)"
)
_PLACED = rf"located (?:in|(?:to the )?(?:north|south|east|west) of) (?:the )?{_NAME}"
_MADE = rf"made (?:by|in|at) (?:the )?{_NAME}"
_POINTS = r"(?:(?:angle|line|side|point|segment|triangle) )?[A-Z]{1,3}"
_SHAPES = (
    r"(?:the|these|those|two|three|four|red|blue|green|orange|yellow|black|white|gray|grey|colou?rs?|vertical"
    r"|horizontal|center|middle|left|right|upper|lower|top|bottom|long|rectangular|of|in|on|and|image|figure|picture"
    r"|lines?|circles?|squares?|triangles?|rectangles?|fields?|areas?|diameters?|lengths?|sizes?|tiles?|shapes?|blocks?"
    r"|men|A|B)"
)
_SURE_BE = (
    re.compile(
        rf"(?P<subject>{_NAMED}) (?P<predicate>the {_RANK} (?:(?:[^,]* )?(?:{_WORD_OF_NAME}|in the world)"
        r"|north|south|east|west)(?:, (?:followed by|with) [^?]+)?)"
    ),
    re.compile(rf"(?P<subject>{_NAMED}(?: Mountains)?) (?P<predicate>{_PLACED}|{_MADE})"),
    re.compile(rf'(?P<subject>(?:the \w+ )?"[^"]+") (?P<predicate>{_MADE})'),
    re.compile(rf"(?P<subject>the text in this {_PICTURE}) (?P<predicate>{_MADE})"),
    re.compile(
        rf"(?P<subject>{_THIS}) (?P<predicate>named {_NAME}|{_PLACED}|an? {_NAME}"
        rf"|for (?:the )?(?:(?:TV series|movie|film) )?{_NAME}(?: band)?)"
    ),
    re.compile(
        rf"(?P<subject>all the [a-z]+ (?:here|in this {_PICTURE})) (?P<predicate>"
        rf"from (?:the )?(?:(?:manga series|movie|film|TV series) )?{_NAME}"
        r"|(?:[a-z]+ ){0,2}[a-z]+(?<!s)s(?: or [a-z]+s)?)"
    ),
    re.compile(
        rf"(?P<subject>{_SHAPES}(?: {_SHAPES})*) (?P<predicate>(?:both )?"
        r"(?:parallel|straight|curved|vertical|horizontal|identical|the same"
        r"|different(?: (?:colou?rs?|lengths?|heights?|sizes?))?)(?: (?:with|to) each other)?)"
    ),
    re.compile(
        rf"(?P<subject>{_POINTS}) "
        rf"(?P<predicate>(?:equal to|perpendicular to|parallel to|(?:larger|smaller|greater) than) {_POINTS}"
        rf"|the (?:centroid|incenter|circumcenter|orthocenter|othocenter|midpoint) of {_POINTS})"
    ),
)
# The word after these verbs shows that they are verbs: an article, a number, a name or a rank.
_TAKES = rf"(?:the|an?|its|his|her|their|more|most|less|part of|{_RANK}|[a-z]+er|\d|{_WORD_OF_NAME})\b|\""
_VERB = (
    r"(?:have|win|hold|cover|release|sell|generate|achieve|experience|suffer|represent|witness|surpass|make|open|close"
    r"|intersect)"
)
# A subject without a verb: not "the boy help" in "Does the boy help open the door?".
_THING = (
    r"(?:(?!(?:never|hardly|rarely|seldom|only|help|let|make|go|come|dare|need|try|and|or|to|you|we|they)\b)[a-z]+\b ?)"
    r"{1,2}(?<! )"
)
_QUANTITY = (
    rf"[\w()]+|(?:the )?{_PLAIN}(?: '\w')?"
    r"|the value of (?:'\w'|\w|the [a-z]+ root of \d+|(?:the )?[A-Z]\w+ constant '\w')"
)
_NUMBER = r"\d[\d.]*(?: \* \d+\^-?\d+)?"
_SURE_DO = (
    re.compile(
        rf'(?P<subject>{_NAMED}|{_PLAIN}\'s [a-z]+(?: to (?:the )?{_PLAIN})?|"[^"]+"|the [a-z]+ "[^"]+"'
        rf"|the {_THING}) (?P<predicate>{_VERB} (?={_TAKES}).+)",
        re.DOTALL,
    ),
    re.compile(rf"(?P<subject>the {_THING}) (?P<predicate>attempt to .+)"),
    re.compile(rf"(?P<subject>{_QUANTITY}) (?P<predicate>range from {_NUMBER} to {_NUMBER})"),
    re.compile(rf"(?P<subject>{_NAMED}) (?P<predicate>flow through (?:the )?{_NAME})"),
)
_PRONOUNS = frozenset({"there", "it", "he", "she", "they", "we", "you", "this", "that", "these", "those"})
# A subject that ends in one of these words, or contains a clause, goes on.
_UNFINISHED = re.compile(
    r"(?:\b(?:an?|the|this|that|these|those|of|in|on|at|to|from|for|with|by|and|or|but|than|as|no|not|is|are|was|were"
    r"|be|being|have|has|had)|ing|,)$|\s(?:that|which|who|whose|where|when|while|if|because)\b|[,;:]",
    re.IGNORECASE,
)

_BARE = re.compile(r"(\s*)(\w+)([.!]*\s*)")


class Refused(ValueError):
    """No rule can make a parallel form of a row; the message is the reason, without a row's own words."""


def chooser(seed: int, text: str) -> Callable[[Sequence[str]], str]:
    """Return a choice by seed and text: the same question in two rows gets the same wording."""
    generator = random.Random(f"{seed}|{text}")
    return lambda wordings: wordings[int(generator.random() * len(wordings))]


def negate(question: str, seed: int = 0, subject: str = "") -> str:
    """Negate a yes/no question, so that the opposite answer becomes right; a second negation restores the meaning.

    Text before a comma or a full stop ("According to the image, ...") and after the question mark ("Answer in one
    word.") is unchanged. A `subject`, such as "the sky", says what the question is about; without one, rules find it.

    >>> negate("Is there a dog in the image?").replace("correct", "true")
    'Is it true that there is no dog in the image?'
    >>> negate("Are the lines the same length? Yes or No").replace("untrue", "false")
    'Is it false that the lines are the same length? Yes or No'
    >>> negate("Is the sky blue in this image?", subject="the sky").replace("untrue", "false")
    'Is it false that the sky is blue in this image?'
    """
    asked, mark, after = question.strip().partition("?")
    parts = _ASKED.fullmatch(asked)
    if not mark or "?" in after or not parts or _asks(parts["before"]):
        raise Refused("it is not a single question that opens with is, are, was, were, does, do or did")
    rest = parts["rest"].rstrip() or parts["rest"][0]
    leads, statement = _statement(parts["verb"].lower(), rest, subject)
    is_ = "Is" if parts["verb"][0].isupper() else "is"
    return f"{parts['before']}{is_} it {chooser(seed, question)(leads)} that {statement}?{after}"


def _asks(text: str) -> bool:
    """Whether a sentence or line of a text opens like a question."""
    end = 0
    for word in _WORD.finditer(text):
        opens = not end or "\n" in text[end : word.start()] or text[end - 1] in ".:;"
        if opens and _ASKS.match(word[0]):
            return True
        end = word.end()
    return False


def opposite(answer: object) -> object:
    """Return the other answer, in the same type and case.

    >>> [opposite(answer) for answer in ("yes", "No.", "1", 0, True)]
    ['no', 'Yes.', '0', 1, False]
    """
    if isinstance(answer, bool):
        return not answer
    if isinstance(answer, int) and answer in (0, 1):
        return 1 - answer
    parts = _BARE.fullmatch(answer) if isinstance(answer, str) else None
    if not parts or parts[2].lower() not in OPPOSITE:
        raise Refused("its answer is neither yes nor no")
    space, word, end = parts.groups()
    other = OPPOSITE[word.lower()]
    return space + (other.upper() if word.isupper() else other.title() if word.istitle() else other) + end


def _statement(verb: str, rest: str, known: str) -> tuple[tuple[str, ...], str]:
    """Return the words that may lead ("true" or "false" and their like), and the statement that follows."""
    led = _LED.fullmatch(rest) if verb == "is" else None
    if led:
        return (FALSE if led["lead"] in TRUE else TRUE), led["statement"]
    if _NEGATIVE.match(rest):
        raise Refused("it is a negative question, where a yes is ambiguous")
    if _CHOICE.search(rest):
        raise Refused("it asks which of two things is true")
    none = _NONE.fullmatch(rest) if verb in _BE else None
    if none:
        return TRUE, f"there {verb} no {none['what']}"
    if known and rest.startswith(f"{known} "):
        return FALSE, f"{known} {verb}{rest.removeprefix(known)}"
    for rule in (*_SUBJECT_BE, *_SURE_BE) if verb in _BE else (*_SUBJECT_DO, *_SURE_DO):
        parts = rule.fullmatch(rest)
        subject = parts["subject"] if parts else ""
        if parts and (subject.lower() in _PRONOUNS or not _UNFINISHED.search(subject)):
            return FALSE, f"{subject} {verb} {parts['predicate']}"
    raise Refused("no rule can tell where its subject ends")
