"""A vision-language model with random weights, and its processor: about 1 MB, made offline in a second.

Its responses are nonsense, but always the same for the same image and prompt, which is all that harnesses need.
"""

from pathlib import Path

PROMPTS = (
    "Is there a cat in the image? yes no Yes No",
    "Describe this image in detail. There is a person and a dog.",
)
WORDS = (" yes", " no", " not", " a person", " a dog", " an orange", " skis", ".", "?")
"""All that it says, so that there is something to score."""

SIDE, PATCH, WIDTH = 28, 14, 32
CHAT = (
    "{% for message in messages %}{{ message['role'] }}: "
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)


def make(folder: Path, seed: int = 0, chat_template: str | None = CHAT) -> Path:
    """Write the model and its processor to a folder.

    Args:
        folder: made if need be.
        seed: of the weights; another one is another model.
        chat_template: None for a model without one.
    """
    import torch
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        PreTrainedTokenizerFast,
    )

    bpe = Tokenizer(models.BPE(unk_token="<unk>"))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    special = ["<unk>", "<s>", "</s>", "<pad>", "<image>"]
    letters = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        PROMPTS, trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=letters)
    )
    bpe.add_tokens([AddedToken(word, normalized=False) for word in WORDS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
        model_max_length=2048,
    )
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}
        ),
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        image_token="<image>",
        num_additional_image_tokens=1,
        chat_template=chat_template,
    )
    small = {
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**small, image_size=SIDE, patch_size=PATCH, projection_dim=WIDTH),
        text_config=LlamaConfig(
            **small,
            vocab_size=len(tokenizer),
            num_key_value_heads=2,
            max_position_embeddings=2048,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=3,
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=(SIDE // PATCH) ** 2,
    )
    torch.manual_seed(seed)
    model = LlavaForConditionalGeneration(config)
    for (
        weight
    ) in model.parameters():  # larger than the usual start, so that images and prompts make a difference
        weight.data.mul_(8 if weight.dim() > 1 else 1)
    words = [tokenizer.convert_tokens_to_ids(word) for word in (*WORDS, "</s>")]
    spoken = model.lm_head.weight.data[words].clone()
    model.lm_head.weight.data.zero_()
    model.lm_head.weight.data[words] = spoken - spoken.mean(0)  # one of them always has a logit above 0
    model.generation_config.pad_token_id, model.generation_config.eos_token_id = 3, 2
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    import sys

    print(make(Path(sys.argv[1])))
