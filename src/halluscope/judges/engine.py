"""How language models are run: by which library, in which precision, on which and how many devices."""

from dataclasses import dataclass, replace

from halluscope.errors import JudgeUnavailable
from halluscope.judges import weights
from halluscope.judges.base import Judge
from halluscope.judges.causal import CausalJudge
from halluscope.judges.converted import ConvertedJudge
from halluscope.judges.fleet import Fleet
from halluscope.judges.seq2seq import Seq2SeqJudge

ENGINES = ("torch", "ctranslate2", "ctranslate2-int8")


@dataclass(frozen=True)
class Engine:
    """How language models are run. What can move an answer stands in the judge's key.

    Attributes:
        name: "torch"; or for encoder-decoders "ctranslate2" (float32) or "ctranslate2-int8" (the extra `fast`).
        recheck: with "ctranslate2-int8": answers by a smaller lead than this, in logits, are asked again in float32.
        device: "cuda", "cuda:1", "cpu", ...; None takes a GPU if there is one.
        workers: how many processes hold a copy of each judge, through Ray (the extra `ray`), each on a GPU of its own
            where there are any; 0 runs in this process.

    Raises:
        ValueError: for an unknown name, or a number out of range.
    """

    name: str = "torch"
    recheck: float = 0.0
    device: str | None = None
    workers: int = 0

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise ValueError(f"engine is {self.name!r:.80}; expected {', '.join(map(repr, ENGINES))}.")
        if (
            isinstance(self.recheck, bool)
            or not isinstance(self.recheck, int | float)
            or not self.recheck >= 0
        ):
            raise ValueError(f"recheck is {self.recheck!r:.80}; expected a number of logits, at least 0.")
        if self.recheck and self.name != "ctranslate2-int8":
            raise ValueError(f"recheck goes with engine='ctranslate2-int8'; engine is {self.name!r}.")
        if isinstance(self.workers, bool) or not isinstance(self.workers, int) or self.workers < 0:
            raise ValueError(f"workers is {self.workers!r:.80}; expected a number of processes, 0 for none.")

    def judge(self, model: str) -> Judge:
        """The judge of a model, not loaded yet.

        Raises:
            JudgeUnavailable: if the model is not to be had, or the engine cannot run it.
            MissingExtra: without the libraries that the engine needs.
        """
        found = weights.find(model)
        if self.name != "torch" and not found.is_encoder_decoder:
            raise JudgeUnavailable(
                f"engine={self.name!r} runs encoder-decoders; {found.name!r} is none. Use engine='torch'."
            )
        if self.workers:
            return Fleet(model, replace(self, workers=0), self.workers)
        if self.name != "torch":
            precision = "int8" if self.name.endswith("int8") else "float32"
            return ConvertedJudge(found, precision, self.recheck, self.device)
        if found.is_encoder_decoder:
            return Seq2SeqJudge(found, self.device)
        return CausalJudge(found, self.device)
