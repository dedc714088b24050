"""HallusionBench for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.metrics import hallusionbench, module
from halluscope.records.control_pairs import read

_ABOUT = """
HallusionBench asks yes/no questions about original and edited images, and the same ones without an image. Judged
answers become accuracies of questions, control pairs and figures, a yes/no bias, a consistency test, and a diagnosis:
does the model fail because it follows what it knows (language hallucination), or because it sees wrongly (visual
illusion)?
"""

_BIBTEX = """
@inproceedings{guan2024hallusionbench,
  title={{HallusionBench}: An Advanced Diagnostic Suite for Entangled Language Hallucination
         and Visual Illusion in Large Vision-Language Models},
  author={Guan, Tianrui and Liu, Fuxiao and Wu, Xiyang and Xian, Ruiqi and Li, Zongxia and Liu, Xiaoyu and Wang, Xijun
          and Chen, Lichang and Huang, Furong and Yacoob, Yaser and Manocha, Dinesh and Zhou, Tianyi},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  pages={14375--14385},
  year={2024}
}
"""

_ROW = {
    "category": datasets.Value("string"),
    "subcategory": datasets.Value("string"),
    "set_id": datasets.Value("int64"),
    "figure_id": datasets.Value("int64"),
    "question_id": datasets.Value("int64"),
    "visual_input": datasets.Value("int64"),
    "question": datasets.Value("string"),
    "gt_answer": datasets.Value("string"),
    "gt_answer_details": datasets.Value("string"),
}


class HallusionBench(module.Module):
    """See `halluscope.metrics.hallusionbench.compute` for every option and result."""

    about, bibtex = _ABOUT, _BIBTEX
    links = ["https://arxiv.org/abs/2310.14566", "https://github.com/tianyi-lab/HallusionBench"]
    row = {"predictions": datasets.Value("string"), "references": _ROW}
    read_row = staticmethod(lambda row, where: read(row, where).row)
    score = staticmethod(hallusionbench.compute)
