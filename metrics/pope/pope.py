"""POPE for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.metrics import module, pope

_ABOUT = """
POPE measures object hallucination in the answers of large vision-language models to questions such as "Is there a dog
in the image?". A named rule reads each reply as yes, no or neither; yes is the positive class.
"""

_BIBTEX = """
@inproceedings{li2023pope,
  title={Evaluating Object Hallucination in Large Vision-Language Models},
  author={Li, Yifan and Du, Yifan and Zhou, Kun and Wang, Jinpeng and Zhao, Wayne Xin and Wen, Ji-Rong},
  booktitle={Proceedings of the 2023 Conference on Empirical Methods in Natural Language Processing},
  pages={292--305},
  year={2023}
}
"""


class Pope(module.Module):
    """See `halluscope.metrics.pope.compute` for every option and result."""

    about, bibtex = _ABOUT, _BIBTEX
    links = ["https://arxiv.org/abs/2305.10355"]
    row = {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
    score = staticmethod(pope.compute)
