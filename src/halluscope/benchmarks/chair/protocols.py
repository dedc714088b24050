"""The ways in which CHAIR is scored.

By Rohrbach et al. (2018) with their script, LisaAnne/Hallucination, utils/chair.py, and its copy
Maxlinn/CHAIR-metric-standalone; by its fork in shikiw/OPERA, chair.py, which reads words with a tagger; and by
lmms-eval, lmms_eval/tasks/coco_cap_chair.
"""

from halluscope.benchmarks.chair.rows import are_caches
from halluscope.explaining.protocols import Discrepancy, Protocol, Protocols, Way

SCRIPT = Protocol(
    "script",
    by="CHAIR's script since OPERA (chair.py of shikiw/OPERA and its copies)",
    rows=Way("the captions"),
    labels=Way("the dataset's, with those of --captions if given"),
    discrepancy=Discrepancy(
        "it also knows the objects that COCO's captions name: --captions names these, and CHAIR's cache has them",
        unless={"captions": True},
        unless_dataset=are_caches,
    ),
    parser=Way("words as tagged by nltk and looked up in WordNet", {"reader": "nltk"}),
    counting=Way("CHAIR_i over mentions, CHAIR_s over captions"),
)
FIRST_SCRIPT = SCRIPT.but(
    "first-script",
    by="CHAIR's first script (LisaAnne/Hallucination; copies in HALC, RVCD, ConVis, Nullu)",
    parser=Way(
        "words brought into the singular by pattern's singularize, without tags", {"reader": "textblob"}
    ),
)
HALLUSCOPE = SCRIPT.but(
    "halluscope",
    by="this project",
    discrepancy=None,
    parser=Way("words by a dictionary (lemminflect) and rules", {"reader": "lemminflect"}),
)
INSTANCES = HALLUSCOPE.but(
    "instances",
    by="scripts that leave out COCO's captions",
    needs=("captions",),
    labels=Way("the annotated instances alone", without=("captions",)),
)
COCO_CAP_CHAIR = SCRIPT.but(
    "coco_cap_chair",
    only_named=True,
    by='lmms-eval, task coco_cap_chair, which asks "Please describe this image in detail."',
    scores=("chair_i", "chair_s"),
    rows=Way("the images of tsunghanwu/mscoco_chair"),
    labels=Way("the dataset's; in lmms-eval, gt_object of tsunghanwu/mscoco_chair"),
    discrepancy=Discrepancy("its labels are gt_object of tsunghanwu/mscoco_chair"),
)

PROTOCOLS = Protocols(
    (
        SCRIPT,
        FIRST_SCRIPT,
        HALLUSCOPE,
        INSTANCES,
        COCO_CAP_CHAIR,
    ),
    shown=("chair_i", "chair_s", "recall", "mean_words"),
    read=("mentions",),
)
