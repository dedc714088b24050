"""CHAIR for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.metrics import chair, module

_ABOUT = """
CHAIR measures object hallucination in image captions: words are looked up in a synonym list of COCO's 80 classes, and
a mention of a class that is not in the image is hallucinated. CHAIR_i is the share of such mentions, CHAIR_s the share
of captions with at least one.
"""

_BIBTEX = """
@inproceedings{rohrbach2018object,
  title={Object Hallucination in Image Captioning},
  author={Rohrbach, Anna and Hendricks, Lisa Anne and Burns, Kaylee and Darrell, Trevor and Saenko, Kate},
  booktitle={Proceedings of the Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  pages={4035--4045},
  year={2018}
}
"""


class Chair(module.Module):
    """See `halluscope.metrics.chair.compute` for every option and result."""

    about, bibtex = _ABOUT, _BIBTEX
    links = ["https://arxiv.org/abs/1809.02156"]
    row = {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
    }
    score = staticmethod(chair.compute)
