"""Tiny models with random weights: a Gemma 3 and an encoder of a few thousand numbers, as folders."""

import warnings
from pathlib import Path

WORDS = ["no", "yes", "good", "bad", "red", "blue", "one", "two", "tree", "stone", "item", "text", "Answer", ":"]


def _tokenizer(folder: Path) -> int:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    listed = ["[PAD]", "[UNK]", "[EOS]", *WORDS, *(f"w{i}" for i in range(80))]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(listed)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]"
    ).save_pretrained(folder)
    return len(listed)


def gemma(folder: Path) -> str:
    """A causal model of Gemma 3's kind."""
    import torch
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    size = _tokenizer(folder)
    torch.manual_seed(1)
    config = Gemma3TextConfig(
        vocab_size=size, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=64, sliding_window=32, pad_token_id=0,
        eos_token_id=2, bos_token_id=2, initializer_range=0.3,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Gemma3ForCausalLM(config).save_pretrained(folder)
    return str(folder)


def bert(folder: Path) -> str:
    """An encoder."""
    import torch
    from transformers import BertConfig, BertModel

    size = _tokenizer(folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=size, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, pad_token_id=0,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return str(folder)
