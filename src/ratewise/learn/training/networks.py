"""The networks that can be trained: an encoder with a head, and a causal model with LoRA adapters.

Both give one number for an item, the log-odds of a high rating, and a loss to train by.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ratewise.core.checks import Floats
from ratewise.errors import InputError
from ratewise.learn.hub import quiet_libraries, reason_of
from ratewise.learn.training.folder import Settings
from ratewise.learn.training.torches import NEEDED, half, torch_module, transformers_module
from ratewise.learn.training.weights import need_weights, read_weights, save_weights

BETWEEN = "<sep>"  # in an encoder's template: the model's own mark between two texts
HEAD, ADAPTERS = "head.safetensors", "adapter_model.safetensors"
_BATCH = 32  # texts that go through the network at once, when it only answers


class Network(Protocol):
    """One network; its trainable parameters are what is trained, kept and saved."""

    device: str

    def loss(self, prompts: Sequence[str], targets: Any) -> Any:
        """The mean loss of a batch, to go downhill on."""

    def log_odds(self, prompts: Sequence[str]) -> Any:
        """One number for each prompt."""

    def parts(self) -> dict[str, Any]:
        """The trainable parameters, by name."""

    def train(self, on: bool) -> None:
        """Dropout on or off."""

    def save(self, folder: Path) -> None:
        """Write what transformers can read."""


class Encoder:
    """Mean of the last layer over the text, and a line on it."""

    def __init__(self, init: str, settings: Settings, device: str, head: Path | None = None) -> None:
        torch, transformers = torch_module(), transformers_module()
        self.settings, self.device = settings, device
        self.tokenizer = _loaded(transformers.AutoTokenizer, init)
        self.base = _loaded(transformers.AutoModel, init, weights=True).float().to(device)
        self.head = torch.nn.Linear(self.base.config.hidden_size, 1).to(device)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)
        if head is not None:
            _fill(self.head, need_weights(head, HEAD))

    def loss(self, prompts: Sequence[str], targets: Any) -> Any:
        """Cross-entropy; ratings between the ends count as shares of both."""
        torch = torch_module()
        return torch.nn.functional.binary_cross_entropy_with_logits(self.log_odds(prompts), targets)

    def log_odds(self, prompts: Sequence[str]) -> Any:
        """The head's number."""
        between = self.tokenizer.sep_token or "\n"
        texts = [prompt.replace(BETWEEN, between) for prompt in prompts]
        read = _tokens(self.tokenizer, texts, _room(self, self.base.config), self.device)
        hidden = self.base(**read).last_hidden_state
        mask = read["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)
        return self.head(mean).squeeze(-1).float()

    def parts(self) -> dict[str, Any]:
        """All weights."""
        named = {f"base.{name}": part for name, part in self.base.named_parameters()}
        return named | {f"head.{name}": part for name, part in self.head.named_parameters()}

    def train(self, on: bool) -> None:
        """Dropout on or off."""
        self.base.train(on)
        self.head.train(on)

    def save(self, folder: Path) -> None:
        """The encoder in the form of transformers; the head beside it."""
        self.base.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        save_weights(folder / HEAD, self.head.state_dict())


class Causal:
    """A language model that is given the prompt, and the likelihood of its answer: the paper's weak rater."""

    def __init__(self, init: str, settings: Settings, device: str, adapters: Path | None = None) -> None:
        torch, transformers = torch_module(), transformers_module()
        try:
            import peft
        except ImportError:
            raise InputError(NEEDED) from None
        self.settings, self.device = settings, device
        self.tokenizer = _loaded(transformers.AutoTokenizer, init)
        base = _loaded(transformers.AutoModelForCausalLM, init, weights=True)
        base = base.to(torch.bfloat16) if device == "cuda" else base.float()
        if adapters is None:
            lora = peft.LoraConfig(
                r=16, lora_alpha=32, lora_dropout=0.05, target_modules="all-linear", task_type="CAUSAL_LM"
            )
            self.model = peft.get_peft_model(base, lora)
        else:
            self.model = _adapted(peft, base, need_weights(adapters, ADAPTERS).parent)
        self.model.to(device)
        self.answers = torch.tensor(_answers(self.tokenizer, settings.words), device=device)

    def loss(self, prompts: Sequence[str], targets: Any) -> Any:
        """Minus the log-likelihood of the answer's token; ratings between the ends count as shares of both answers."""
        said = torch_module().log_softmax(self._at_the_end(prompts), dim=-1)[:, self.answers]
        return -(targets * said[:, 1] + (1.0 - targets) * said[:, 0]).mean()

    def log_odds(self, prompts: Sequence[str]) -> Any:
        """Of the one answer against the other."""
        said = self._at_the_end(prompts)[:, self.answers]
        return said[:, 1] - said[:, 0]

    def _at_the_end(self, prompts: Sequence[str]) -> Any:
        """The model's numbers for the token after each prompt; padding comes after it and is never looked at."""
        torch = torch_module()
        read = _tokens(self.tokenizer, prompts, _room(self, self.model.config), self.device, end=True)
        last = read["attention_mask"].sum(dim=1) - 1
        said = self.model(**read).logits
        return said[torch.arange(len(prompts), device=self.device), last].float()

    def parts(self) -> dict[str, Any]:
        """The adapters' weights."""
        return {name: part for name, part in self.model.named_parameters() if part.requires_grad or "lora_" in name}

    def train(self, on: bool) -> None:
        """Dropout on or off."""
        self.model.train(on)

    def save(self, folder: Path) -> None:
        """The adapters in the form of peft, and the tokenizer."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def answer(network: Network, prompts: Sequence[str]) -> Floats:
    """Log-odds of many prompts, in batches of similar length."""
    torch = torch_module()
    network.train(False)
    order = np.argsort([len(prompt) for prompt in prompts], kind="stable")
    out = np.empty(len(prompts))
    with torch.no_grad(), half(network.device):
        for first in range(0, order.size, _BATCH):
            here = order[first : first + _BATCH]
            out[here] = network.log_odds([prompts[i] for i in here]).double().cpu().numpy()
    return out


def _room(network: Any, config: Any) -> int:
    """Tokens that are read: as many as the settings say, and no more than the model has places for."""
    places = getattr(config, "max_position_embeddings", None) or network.settings.longest
    return int(min(network.settings.longest, places, network.tokenizer.model_max_length))


def _tokens(tokenizer: Any, prompts: Sequence[str], longest: int, device: str, end: bool = False) -> Any:
    """Tokens with padding on the right. Where the end decides, long prompts lose their beginning."""
    tokenizer.padding_side, tokenizer.truncation_side = "right", "left" if end else "right"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    read = tokenizer(list(prompts), padding=True, truncation=True, max_length=longest, return_tensors="pt")
    return {name: read[name].to(device) for name in ("input_ids", "attention_mask")}


def check_encoder(init: str) -> None:
    """Refuse a model that cannot be loaded, before anything is paid for."""
    transformers = transformers_module()
    _loaded(transformers.AutoTokenizer, init)
    _loaded(transformers.AutoModel, init, weights=True)


def _answers(tokenizer: Any, words: tuple[str, str]) -> list[int]:
    found = [tokenizer.encode(word, add_special_tokens=False)[:1] for word in words]
    if not all(found) or found[0] == found[1] or tokenizer.unk_token_id in (found[0][0], found[1][0]):
        raise InputError(f"the model's tokenizer cannot tell {words[0]!r} from {words[1]!r}; give other words")
    return [found[0][0], found[1][0]]


def _loaded(kind: Any, init: str, *, weights: bool = False) -> Any:
    """From a folder or by a name. Weights are safetensors: transformers would also take pickles, which can run code."""
    if not Path(init).expanduser().is_dir() and (init.startswith((".", "~")) or Path(init).is_absolute()):
        raise InputError(f"the model {init!r} cannot be loaded: there is no such folder; check the path")
    try:
        with quiet_libraries():
            return kind.from_pretrained(init, use_safetensors=True) if weights else kind.from_pretrained(init)
    except Exception as error:
        raise InputError(
            f"the model {init!r} cannot be loaded ({reason_of(error)}); give the path of its folder, with weights in "
            "safetensors"
        ) from None


def _adapted(peft: Any, base: Any, folder: Path) -> Any:
    """The model with the adapters of a folder."""
    try:
        return peft.PeftModel.from_pretrained(base, str(folder))
    except Exception as error:
        raise InputError(
            f"the adapters in {folder} cannot be loaded ({reason_of(error)}); train the rater again"
        ) from None


def _fill(module: Any, path: Path) -> None:
    """Weights from a file, all of them and of the right size."""
    found = read_weights(path)
    try:
        module.load_state_dict({} if found is None else found[0])
    except RuntimeError:
        raise InputError(f"{path} is damaged; train the rater again with ratewise train") from None
