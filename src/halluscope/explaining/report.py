"""An explanation as tables and notes."""

from collections.abc import Iterator, Sequence
from typing import Any

from halluscope.explaining.explanation import Explanation, by_reason
from halluscope.explaining.protocols import CHOSEN
from halluscope.reporting.tables import Cell, Notes, Report, Table, Values, scored
from halluscope.responses.identity import single_spaced
from halluscope.runs.results import signatures
from halluscope.sanitize import one_line, quoted, short_repr

# How many characters are shown of a response, of a file's name, of a prompt, of a reason, and of what was read
TEXT = 40
NAME = 24
PROMPTED = 80
REASON = 300
READ = 40

QUESTION_ALONE = "{question}"  # a prompt of nothing but the row's own question

MOST_PROMPTS = 3  # of a file, so many are shown


def report(explanation: Explanation, whole: Values, number: str | None = None) -> Report:
    """Return a table of scores per file, and notes, from what `halluscope.explaining.facts.as_json` returns."""
    blocks: list[Table | Notes] = []
    if number is not None:
        blocks.append(Notes(of_number(whole, number)))
    blocks += tables(explanation, whole)
    for lines in (
        list(remarks(explanation, whole)),
        list(asked(whole)),
        list(ways(whole)),
        list(read_differently(explanation, whole)),
    ):
        if lines:
            blocks.append(Notes(lines))
    results = []
    for protocol in whole["protocols"]:
        for result in protocol["results"]:
            results.append((label(whole, protocol["name"], result["responses"]), result))
    blocks += signatures(results)
    return blocks


def label(whole: Values, protocol: str, file: str) -> str:
    """Return the name of a protocol, with that of a file if there are several."""
    if len(whole["responses"]) == 1:
        return protocol
    return f"{protocol}, {one_line(file, NAME)}"


def tables(explanation: Explanation, whole: Values) -> Iterator[Table]:
    """Yield the scores of each file, with a column per protocol."""
    header = ["score"]
    for protocol in whole["protocols"]:
        header.append(protocol["name"])
    for number, file in enumerate(whole["responses"]):
        rows: list[list[Cell]] = []
        for name in explanation.known.shown:
            row: list[Cell] = [name]
            for protocol in whole["protocols"]:
                value = protocol["results"][number]["scores"].get(name)
                row.append(scored(value, explanation.benchmark.is_points(name)))
            rows.append(row)
        title = ""
        if len(whole["responses"]) > 1:
            title = one_line(file, NAME)
        yield Table("scores", header, rows, of=title)


def of_number(whole: Values, number: str) -> list[str]:
    """Say which scores print as the number."""
    if not whole["number"] and not whole["number_unequal"]:
        return [f"{number} is not a score of these responses under these protocols."]
    lines = []
    if whole["number"]:
        lines.append(f"{number} is")
        lines += placed(whole, whole["number"])
    if whole["number_unequal"]:
        lines.append(
            f"{number} is here, but the protocol's own program may print another number (not equal, below)"
        )
        lines += placed(whole, whole["number_unequal"])
    return lines


def placed(whole: Values, places: Sequence[Values]) -> list[str]:
    """Return a line for each place of a number."""
    lines = []
    for place in places:
        lines.append(f"  {label(whole, place['protocol'], place['responses'])}: {place['score']}")
    return lines


def remarks(explanation: Explanation, whole: Values) -> Iterator[str]:
    """Say what has no effect, which numbers are not those of a protocol's own program, and what is not computed."""
    protocols = whole["protocols"]
    if len(protocols) == 1:
        which = f"is scored by one protocol here, {protocols[0]['name']}"
        if len(explanation.known.each) == 1:
            which = "has one protocol"
        yield f"{explanation.benchmark.title} {which}, so there is nothing to compare."
    without_effect = {}
    not_equal = {}
    for protocol in protocols:
        if protocol["without_effect"]:
            without_effect[protocol["name"]] = "; ".join(protocol["without_effect"])
        if protocol["discrepancy"]:
            not_equal[protocol["name"]] = protocol["discrepancy"]
    yield from because("without effect", without_effect)
    yield from because("not equal", not_equal)
    yield from because("not computed", whole["not_computed"])


def because(remark: str, reasons: Values) -> Iterator[str]:
    for names, reason in by_reason(reasons):
        yield f"{remark}: {names}, because {one_line(reason, REASON)}"


def asked(whole: Values) -> Iterator[str]:
    """Say which prompts were answered, and which protocols ask them."""
    prompt_of = {}
    for protocol in whole["protocols"]:
        if protocol["prompt"]:
            prompt_of[protocol["name"]] = protocol["prompt"]
    for file, prompts in whole["prompts"].items():
        yield from answered(one_line(file, NAME), prompts, prompt_of)
    for name, prompt in prompt_of.items():
        if prompt == QUESTION_ALONE:
            yield f"  {name} asks the question alone"
        else:
            yield f"  {name} asks {quoted(prompt, PROMPTED)}"
    if len(whole["responses"]) == 1:
        yield "  The effect of another prompt cannot be computed from one file: give --responses a file per prompt."


def answered(file: str, prompts: list[dict[str, Any]], prompt_of: dict[str, str]) -> Iterator[str]:
    """Say which prompts a file answers."""
    known = [prompt for prompt in prompts if prompt["prompt"]]
    if not known:
        yield f"prompts: {file} has no prompt, query or instruction that says what was asked"
        return
    counted = []
    for counts in known[:MOST_PROMPTS]:
        counted.append(f"{quoted(counts['prompt'], PROMPTED)} ({counts['responses']:,})")
    text = ", ".join(counted)
    if len(known) > MOST_PROMPTS:
        rest = sum(prompt["responses"] for prompt in known[MOST_PROMPTS:])
        text += f", and other prompts ({rest:,})"
    yield f"prompts: {file} answers {text}"
    same = []
    for name, prompt in prompt_of.items():
        if len(known) == 1 and single_spaced(prompt) == known[0]["prompt"]:
            same.append(name)
    if not same:
        yield "  which is what no protocol here is known to ask"
    elif len(same) == 1:
        yield f"  which is what {same[0]} asks"
    else:
        yield f"  which is what {', '.join(same)} ask"


def ways(whole: Values) -> Iterator[str]:
    """Say what each protocol does; of all but the first, what it does otherwise than the first."""
    first = whole["protocols"][0]
    for protocol in whole["protocols"]:
        yield f"{protocol['name']}: {protocol['by']}"
        for aspect in CHOSEN:
            if protocol is first or protocol[aspect] != first[aspect]:
                yield f"  {aspect + ':':9} {protocol[aspect]}"


def read_differently(explanation: Explanation, whole: Values) -> Iterator[str]:
    """Say, for each two parsers, what they read differently in the first file."""
    readings = [reading for reading in whole["readings"] if reading["responses"] == whole["responses"][0]]
    if len(readings) > 1 and not any(reading["read_otherwise"] for reading in readings):
        yield "no two protocols read a response differently"
        return
    for reading in readings:
        line = f"{reading['first']} and {reading['second']} read {reading['read_otherwise']:,} of {reading['of']:,}"
        line += " responses differently"
        if reading["examples"]:
            line += ", such as"
        yield line
        for example in reading["examples"]:
            yield of_example(explanation, example)


def of_example(explanation: Explanation, example: Values) -> str:
    """Return a response, and what both parsers read."""
    identity = []
    for name, value in example.items():
        if name not in ("text", "first", "second"):
            identity.append(str(value))
    row = one_line(" ".join(identity), NAME)
    first = in_words(explanation, without_common(example["first"], example["second"]))
    second = in_words(explanation, without_common(example["second"], example["first"]))
    return f"  {row}: {quoted(example['text'], TEXT)} is {first}, or {second}"


def without_common(reading: Values, other_reading: Values) -> dict[str, Any]:
    """Return what one parser read, of lists only what the other did not read.

    >>> without_common({"mentions": ["dog", "cat"], "n": 1}, {"mentions": ["dog"], "n": 2})
    {'mentions': ['cat'], 'n': 1}
    """
    unshared = dict(reading)
    for part, entries in reading.items():
        other_entries = other_reading[part]
        if isinstance(entries, list) and isinstance(other_entries, list):
            unshared[part] = [entry for entry in entries if entry not in other_entries]
    return unshared


def in_words(explanation: Explanation, values: Values) -> str:
    words = {"None": "unreadable"}
    words.update(explanation.known.words)
    texts = []
    for value in values.values():
        texts.append(words.get(str(value)) or short_repr(value, READ))
    return ", ".join(texts)
