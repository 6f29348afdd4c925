"""The networks that can be trained: an encoder with a head, and a causal model with LoRA adapters.

Both give one number for an item, the log-odds of a high rating, and a loss to train by.
"""

import json
import logging
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any, Protocol

import numpy as np

from ratewise.core.checks import Floats
from ratewise.errors import InputError
from ratewise.learn.calibration import Calibrated
from ratewise.learn.rater_folder import Settings, read_settings

NEEDED = "training needs torch, transformers and peft; install them: pip install 'ratewise[train]'"


def torch_module() -> Any:
    """The module, or what to install."""
    try:
        import torch
    except ImportError:
        raise InputError(NEEDED) from None
    return torch


def transformers_module() -> Any:
    """The module with its own progress bars off, or what to install."""
    try:
        import transformers
    except ImportError:
        raise InputError(NEEDED) from None
    transformers.utils.logging.disable_progress_bar()
    return transformers


def device_of(asked: str | None) -> str:
    """The device that was asked for; else a GPU if there is one."""
    torch = torch_module()
    if asked in (None, "auto"):
        return "cuda" if torch.cuda.is_available() else "cpu"
    if asked == "cuda" and not torch.cuda.is_available():
        raise InputError('torch finds no GPU on this machine; write device = "cpu", or leave it out')
    if asked not in ("cpu", "cuda"):
        raise InputError(f"device must be cpu or cuda; got {asked!r}")
    return str(asked)


def seeded(seed: int) -> None:
    """Seed what torch draws from: new weights, dropout."""
    random.seed(seed)
    torch_module().manual_seed(seed)


@contextmanager
def half(device: str) -> Iterator[None]:
    """bf16 on a GPU; full precision on the processor."""
    torch = torch_module()
    with torch.autocast(device_type="cuda", dtype=torch.bfloat16, enabled=device == "cuda"):
        yield


_NOTE = "ratewise"  # the one entry of a file's own notes


def save_weights(path: Path, tensors: dict[str, Any], note: Any = None) -> None:
    """Write tensors, and a note that JSON can hold; whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    ready = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    _safetensors().torch.save_file(ready, str(part), metadata={_NOTE: json.dumps(note)})
    part.replace(path)


def read_weights(path: Path) -> tuple[dict[str, Any], Any] | None:
    """The tensors and the note; `None` where there is no such file, or none that can be read."""
    module, tensors = _safetensors(), {}
    try:
        with module.safe_open(str(path), framework="pt", device="cpu") as file:
            note = json.loads((file.metadata() or {}).get(_NOTE, "null"))
            for name in file.keys():  # noqa: SIM118 - the file is no dictionary
                tensors[name] = file.get_tensor(name)
    except (OSError, ValueError, module.SafetensorError):
        return None
    return tensors, note


def need_weights(folder: Path, name: str) -> Path:
    """A file of weights that a trained rater's folder must have."""
    if not (folder / name).is_file():
        raise InputError(
            f"{folder} has no {name}, so that it is not whole; train the rater again with ratewise train "
            "(weights in other formats are not read: a pickle can run any program)"
        )
    return folder / name


def _safetensors() -> Any:
    try:
        import safetensors
        import safetensors.torch
    except ImportError:
        raise InputError(NEEDED) from None
    return safetensors


_LIBRARIES = ("huggingface_hub", "sentence_transformers", "transformers")
_LONGEST = 200  # letters of what a library says


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Without the bars, retries and advice that the libraries print."""
    from transformers.utils import logging as bars

    loggers = [logging.getLogger(name) for name in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    bars.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def reason_of(error: Exception) -> str:
    """What a library says, in one line, cut between words."""
    return shorten(str(error), _LONGEST, placeholder=" …")


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


def check_folder(folder: Path) -> None:
    """Refuse a folder that is no whole rater, by its files alone: no model is loaded."""
    settings = read_settings(folder)
    need_weights(folder, HEAD if settings.kind == "encoder" else ADAPTERS)
    if settings.kind == "causal" and Path(settings.init).is_absolute() and not Path(settings.init).is_dir():
        raise InputError(f"{folder} was trained from the model {settings.init}, which is gone; bring that folder back")


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """A rater loaded from its folder."""

    settings: Settings
    network: Network

    @classmethod
    def load(cls, folder: str | Path, device: str | None = None) -> "TrainedModel":
        """From the folder that `train` wrote."""
        place = Path(folder)
        settings, where = read_settings(place), device_of(device)
        if settings.kind == "encoder":
            return cls(settings, Encoder(str(place.absolute()), settings, where, head=place))
        return cls(settings, Causal(settings.init, settings, where, adapters=place))

    def probabilities(self, rows: Sequence[Sequence[str]]) -> Floats:
        """P(high rating) of rows of texts, in the order of `settings.text`; calibrated."""
        z = answer(self.network, [self.settings.prompt(row) for row in rows])
        return Calibrated(self.settings.temperature, self.settings.shift)(z)
