"""Writes a run in the format of every-eval-ever (schema 0.3.0): its scores, and a line per response that has a score.

Source: https://github.com/evaleval/every_eval_ever. The files lie where its datastore has them:
data/<benchmark>/<developer>/<model>/<uuid>.json and <uuid>_samples.jsonl.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from halluscope.errors import RunError
from halluscope.files.writing import json_line, new_folder
from halluscope.registry import HIGHER, LOWER, QUESTION, SIGNATURE
from halluscope.reporting.tables import NO_SCORES, flat, is_defined, principal, to_json
from halluscope.runs import folder
from halluscope.runs.folder import Run
from halluscope.version import __version__

SCHEMA = "0.3.0"


def export(run: Run, model: str, by: str, relation: str, out: Path) -> list[Path]:
    """Write a run's two files into a new folder, and return their paths in it.

    `model` is "developer/model", `by` the organization that evaluated, and `relation` its relation to the developer.
    """
    developer, _, name = model.partition("/")
    if not all(re.fullmatch(r"[\w-][\w.-]*", part) and part != "data" for part in (developer, name)):
        raise RunError(
            f"--model is {model!r:.80}; expected the developer and the model's name, such as org/model."
        )
    score, signature, made = (
        principal(run.benchmark, [run.scores]),
        run.scores[SIGNATURE],
        str(run.about["made"]),
    )
    identity = hashlib.sha256(f"{model}\n{signature}\n{made}".encode()).digest()
    of = UUID(bytes=identity[:16], version=4)
    stem = f"data/{run.benchmark.name}/{developer}/{name}/{of}"
    log: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{run.benchmark.name}/{model.replace('/', '_')}/{made}",
        "evaluation_timestamp": made,
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": run.benchmark.title,
            "source_type": "evaluation_run",
            "source_organization_name": by,
            "evaluator_relationship": relation,
        },
        "eval_library": {
            "name": "halluscope",
            "version": __version__,
            "additional_details": {SIGNATURE: signature},
        },
        "model_info": {
            "name": name,
            "id": model,
            "developer": developer,
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": list(_results(run)),
    }
    files = {}
    if lines := list(_lines(run, log["evaluation_id"], score, model)):
        samples = "".join(map(json_line, lines))
        log["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": f"{stem}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(samples.encode()).hexdigest(),
            "total_rows": len(lines),
        }
        files[f"{stem}_samples.jsonl"] = samples
    files = {f"{stem}.json": f"{to_json(log)}\n", **files}
    with new_folder(out) as new:
        (new / stem).parent.mkdir(parents=True)
        for path, content in files.items():
            (new / path).write_bytes(content.encode())
    return [out / path for path in files]


def _results(run: Run) -> Iterator[dict[str, Any]]:
    """Yield each score with its direction and interval; one without a direction cannot be said."""
    benchmark, keys, known = run.benchmark, run.keys, dict(flat(run.scores))
    for name, value in known.items():
        direction, is_points = benchmark.better(name), benchmark.is_points(name)
        if (
            name.partition("/")[0] in NO_SCORES
            or direction not in (HIGHER, LOWER)
            or not isinstance(value, int | float)
            or not is_defined(value)
        ):
            continue
        uncertainty: dict[str, Any] = {"num_samples": len(run.found)}
        ends = known.get(f"interval/{name}")
        if ends is not None and all(map(is_defined, ends)):
            level, method, *_ = keys["interval"].split(",")
            uncertainty |= {
                "confidence_interval": {
                    "lower": float(ends[0]),
                    "upper": float(ends[1]),
                    "confidence_level": float(level),
                    "method": method,
                }
            }
        how_judged = ("judges", "judge", "correctness", "parser", "protocol")
        yield {
            "evaluation_result_id": name,
            "evaluation_name": f"{benchmark.name}/{name}",
            "source_data": {
                "dataset_name": keys["data"],
                "source_type": "url",
                "url": list(benchmark.links),
            },
            "metric_config": {
                "evaluation_description": f"{benchmark.title}: {benchmark.about}",
                "metric_id": f"halluscope.{benchmark.name}.{name}",
                "metric_name": name,
                "metric_unit": "points" if is_points else "proportion",
                "lower_is_better": direction == LOWER,
                "score_type": "continuous",
                "min_score": 0,
                "max_score": "Infinity" if is_points else 1,
                "additional_details": {key: keys[key] for key in how_judged if key in keys},
            },
            "score_details": {"score": float(value), "uncertainty": uncertainty},
        }


def _lines(run: Run, evaluation: str, score: str, model: str) -> Iterator[dict[str, Any]]:
    """Yield a line per response, with its value of the principal score; none if that is no mean over the rows."""
    benchmark = run.benchmark
    if score not in benchmark.means:
        return
    better, rows = benchmark.direction(score) == HIGHER, list(folder.items(run))
    for row, item in zip(rows, folder.view(run), strict=True):
        if (value := row.get(score)) is None:
            continue
        asked = row[folder.INPUTS].get("references")
        target = asked.get(benchmark.target) if isinstance(asked, Mapping) else asked
        question = item.question or benchmark.prompt.replace(QUESTION, "")
        yield {
            "schema_version": SCHEMA,
            "evaluation_id": evaluation,
            "model_id": model,
            "evaluation_name": f"{benchmark.name}/{score}",
            "evaluation_result_id": score,
            "sample_id": str(item.id),
            "interaction_type": "single_turn",
            "input": {"raw": question, "reference": [] if target is None else [str(target)]},
            "output": {"raw": [row[folder.RESPONSE]]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": item.text,
                    "extraction_method": "custom",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": float(value), "is_correct": bool(value > 0) == better},
        }
