"""A judge server that nobody here wrote: llama.cpp's own, from a wheel, with a model made on the spot.

The model is a table of which token follows which, with what probability, so that every log-probability is known by
hand: its layers add nothing, each token is a direction of its own, and the last matrix holds the logarithms. Content
chooses the first token: the chat template ends with the marker that the last message names.
"""

import importlib.util
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .programs import needed

FOLLOWS: Mapping[str, Mapping[str, float]] = {  # token → the tokens after it, with their probabilities
    # the answer begins with white space, which the server trims from its text and keeps in its tokens
    "<|good|>": {"\n": 0.9, '{"verdict": "': 0.1},
    "\n": {'{"verdict": "': 1.0},
    '{"verdict": "': {"yes": 0.7, "no": 0.2, "maybe": 0.1},
    "<|bad|>": {'{"verdict":"': 1.0},
    '{"verdict":"': {"no": 0.8, "yes": 0.2},
    # a digit is a token: 10 is "1" and "0"
    "<|nine|>": {'{ "verdict": "': 1.0},
    '{ "verdict": "': {"9": 0.5, "1": 0.4, "8": 0.1},
    "<|ten|>": {'{ "verdict":"': 1.0},
    '{ "verdict":"': {"1": 0.6, "9": 0.3, "8": 0.1},
    "1": {"0": 0.9, '"}': 0.1},
    **{token: {'"}': 1.0} for token in ("0", "8", "9", "yes", "no", "maybe")},
    '"}': {"<|end|>": 1.0},
}
MARKERS = tuple(token[2:-2] for token in FOLLOWS if token.startswith("<|"))
CONTEXT = 4096  # tokens of one call
_TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
    "{% for name in " + str(list(MARKERS)) + " %}{% if 'MARK ' ~ name in messages[-1]['content'] %}"
    "{{ '<|' ~ name ~ '|>' }}{% endif %}{% endfor %}"
)
_NEVER = -20.0  # log-probability of what never follows
_NORMAL, _CONTROL, _OWN = 1, 3, 4  # kinds of tokens
_SERVE = f"""
import os, sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.model_alias = sys.argv[1], ["tiny-judge"]
params.hostnames, params.port, params.warmup = ["127.0.0.1"], 0, False
params.n_parallel, params.n_ctx, params.cpuparams.n_threads = 2, {2 * CONTEXT}, 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
"""


@contextmanager
def llama_server(folder: Path) -> Iterator[str]:
    """The address of a server, which lives as long as the context, or as its maker."""
    found = importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("gguf")
    needed(None if found is None else "xllamacpp", "the test needs llama.cpp's server: pip install xllamacpp gguf")
    write_model(folder / "tiny.gguf")
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(folder / "tiny.gguf")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        try:
            yield f"{process.stdout.readline().strip()}/v1"
        finally:
            process.stdin.close()


def write_model(path: Path) -> None:
    """The table as a model of llama.cpp's: one layer of zeros between the tokens and their followers."""
    import gguf

    letters = _letters()
    own = sorted({token for row in (FOLLOWS, *FOLLOWS.values()) for token in row if len(token) > 1})
    tokens = [*letters, *own]
    place = {token: i for i, token in enumerate(tokens)}
    width = 64 * math.ceil(len(tokens) / 64)
    is_one = np.eye(len(tokens), width, dtype=np.float32)
    after = np.full((len(tokens), width), _NEVER, np.float32)
    for token, row in FOLLOWS.items():
        for other, p in row.items():
            after[place[_spelled(other, letters)], place[_spelled(token, letters)]] = math.log(p)
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in (
        ("context_length", CONTEXT), ("embedding_length", width), ("block_count", 1), ("feed_forward_length", 32),
        ("head_count", 1), ("head_count_kv", 1), ("layer_norm_rms_eps", 1e-6), ("rope_dimension_count", width),
        ("vocab_size", len(tokens)), ("tokenizer_model", "gpt2"), ("tokenizer_pre", "gpt-2"), ("token_list", tokens),
        ("token_types", [_NORMAL] * len(letters) + [_CONTROL if t.startswith("<|") else _OWN for t in own]),
        ("token_merges", ["y e"]), ("eos_token_id", place["<|end|>"]), ("bos_token_id", place["<|end|>"]),
        ("add_bos_token", False), ("chat_template", _TEMPLATE),
    ):  # fmt: skip
        getattr(writer, f"add_{name}")(value)
    flat, feed = np.ones(width, np.float32), np.zeros((32, width), np.float32)
    for name, tensor in (
        ("token_embd", is_one), ("output_norm", flat), ("output", after / math.sqrt(width)),  # the norm brings √width
        ("blk.0.attn_norm", flat), ("blk.0.ffn_norm", flat),
        *((f"blk.0.attn_{part}", np.zeros((width, width), np.float32)) for part in ("q", "k", "v", "output")),
        ("blk.0.ffn_gate", feed), ("blk.0.ffn_up", feed), ("blk.0.ffn_down", feed.T.copy()),
    ):  # fmt: skip
        writer.add_tensor(f"{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _letters() -> list[str]:
    """The 256 bytes as byte-pair vocabularies spell them: by themselves if they can be printed, else from 256 on."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def _spelled(token: str, letters: list[str]) -> str:
    return letters[ord(token)] if len(token) == 1 else token
