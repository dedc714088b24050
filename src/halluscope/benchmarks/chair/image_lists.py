"""Lists of COCO val2014's images on which published CHAIR scores rest."""

import hashlib
from collections.abc import Iterable

# The first 12 hexadecimal digits of the sha256 of the images' ids without zeros, sorted as text, one per line -> the
# list's name. Each is that of response files in its repository.
NAMES = {
    "a9539c13e258": "OPERA's 500 (shikiw/OPERA, log/chair_eval_results; Areebol/vlm-decoding-hal)",
    "11cb4865e269": "OPERA's 500 for InstructBLIP (shikiw/OPERA, log/chair_eval_results/instructblip)",
    "eb1c1cd6b222": "less-is-more's 500 (yuezih/less-is-more, CHAIR-eval)",
    "3425d5cadce5": "Object HalBench's 300 (kchaosun/THUNLP_Multimodal_Excercise)",
}


def name_of(image_ids: Iterable[object]) -> str | None:
    """Return the name of a published list of exactly these images; None if it is none that is known."""
    lines = "\n".join(sorted(str(image_id) for image_id in image_ids))
    digest = hashlib.sha256(lines.encode(errors="replace")).hexdigest()[:12]
    return NAMES.get(digest)
