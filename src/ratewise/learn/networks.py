"""The networks that can be trained: an encoder with a head, and a causal model with LoRA adapters.

Both give one number for an item, the log-odds of a high rating, and a loss to train by.
"""

import json
import logging
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.errors import InputError
from ratewise.learn.rater_folder import Settings, read_settings

NEEDED = "training needs torch, transformers and peft; install them: pip install 'ratewise[train]'"


def library(name: str) -> Any:
    """A module that training needs, imported when it is used; else what to install."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(NEEDED) from None


def device_of(asked: str | None) -> str:
    """The device that was asked for; else a GPU if there is one."""
    torch = library("torch")
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
    library("torch").manual_seed(seed)


@contextmanager
def half(device: str) -> Iterator[None]:
    """bf16 on a GPU; full precision on the processor."""
    torch = library("torch")
    with torch.autocast(device_type="cuda", dtype=torch.bfloat16, enabled=device == "cuda"):
        yield


_NOTE = "ratewise"  # the one entry of a file's own notes


def save_weights(path: Path, tensors: dict[str, Any], note: Any = None) -> None:
    """Write tensors, and a note that JSON can hold; whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    ready = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    library("safetensors.torch").save_file(ready, str(part), metadata={_NOTE: json.dumps(note)})
    part.replace(path)


def read_weights(path: Path) -> tuple[dict[str, Any], Any] | None:
    """The tensors and the note; `None` where there is no such file, or none that can be read."""
    module, tensors = library("safetensors"), {}
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


class Network(ABC):
    """A model with its tokenizer that gives one number for an item, and a loss to train by."""

    model: Any  # in the form of transformers or peft

    def __init__(self, init: str, settings: Settings, device: str) -> None:
        self.settings, self.device = settings, device
        self.tokenizer = _loaded(library("transformers").AutoTokenizer, init)

    @staticmethod
    def load(folder: str | Path, device: str | None = None) -> "Network":
        """A trained rater from its folder."""
        place = Path(folder)
        settings, where = read_settings(place), device_of(device)
        if settings.kind == "encoder":
            return Encoder(str(place.absolute()), settings, where, head=place)
        return Causal(settings.init, settings, where, adapters=place)

    @abstractmethod
    def loss(self, prompts: Sequence[str], targets: Any) -> Any:
        """The mean loss of a batch; ratings between the ends count as shares of both."""

    @abstractmethod
    def log_odds(self, prompts: Sequence[str]) -> Any:
        """The log-odds of a high rating for each prompt."""

    @abstractmethod
    def parts(self) -> dict[str, Any]:
        """The parameters that are trained, by name."""

    def answers(self, prompts: Sequence[str]) -> Floats:
        """Log-odds of many prompts, in batches of similar length."""
        torch = library("torch")
        self.train(False)
        order = np.argsort([len(prompt) for prompt in prompts], kind="stable")
        out = np.empty(len(prompts))
        with torch.no_grad(), half(self.device):
            for first in range(0, order.size, _BATCH):
                here = order[first : first + _BATCH]
                out[here] = self.log_odds([prompts[i] for i in here]).double().cpu().numpy()
        return out

    def probabilities(self, rows: Sequence[Sequence[str]]) -> Floats:
        """P(high rating) of rows of texts, in the order of `settings.text`; calibrated."""
        return self.settings.calibrated(self.answers([self.settings.prompt(row) for row in rows]))

    def train(self, on: bool) -> None:
        self.model.train(on)

    def save(self, folder: Path) -> None:
        """Write what transformers can read."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def tokens(self, prompts: Sequence[str], *, end: bool = False) -> Any:
        """Tokens with padding on the right, as many as the settings say and the model has places for.

        Where the end decides, long prompts lose their beginning.
        """
        tokenizer, longest = self.tokenizer, self.settings.longest
        places = getattr(self.model.config, "max_position_embeddings", None) or longest
        room = int(min(longest, places, tokenizer.model_max_length))
        tokenizer.padding_side, tokenizer.truncation_side = "right", "left" if end else "right"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        read = tokenizer(list(prompts), padding=True, truncation=True, max_length=room, return_tensors="pt")
        return {name: read[name].to(self.device) for name in ("input_ids", "attention_mask")}


class Encoder(Network):
    """Mean of the last layer over the text, and a line on it; all weights are trained."""

    def __init__(self, init: str, settings: Settings, device: str, head: Path | None = None) -> None:
        super().__init__(init, settings, device)
        torch = library("torch")
        self.model = _loaded(library("transformers").AutoModel, init, weights=True).float().to(device)
        self.head = torch.nn.Linear(self.model.config.hidden_size, 1).to(device)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)
        if head is not None:
            path = need_weights(head, HEAD)
            found = read_weights(path)
            try:
                self.head.load_state_dict({} if found is None else found[0])
            except RuntimeError:
                raise InputError(f"{path} is damaged; train the rater again with ratewise train") from None

    def loss(self, prompts: Sequence[str], targets: Any) -> Any:
        return library("torch").nn.functional.binary_cross_entropy_with_logits(self.log_odds(prompts), targets)

    def log_odds(self, prompts: Sequence[str]) -> Any:
        between = self.tokenizer.sep_token or "\n"
        read = self.tokens([prompt.replace(BETWEEN, between) for prompt in prompts])
        hidden = self.model(**read).last_hidden_state
        mask = read["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)
        return self.head(mean).squeeze(-1).float()

    def parts(self) -> dict[str, Any]:
        named = {f"base.{name}": part for name, part in self.model.named_parameters()}
        return named | {f"head.{name}": part for name, part in self.head.named_parameters()}

    def train(self, on: bool) -> None:
        super().train(on)
        self.head.train(on)

    def save(self, folder: Path) -> None:
        super().save(folder)
        save_weights(folder / HEAD, self.head.state_dict())


class Causal(Network):
    """A language model that is given the prompt, and the likelihood of its answer: the paper's weak rater.

    LoRA adapters are trained, and saved in the form of peft.
    """

    def __init__(self, init: str, settings: Settings, device: str, adapters: Path | None = None) -> None:
        super().__init__(init, settings, device)
        torch, peft = library("torch"), library("peft")
        base = _loaded(library("transformers").AutoModelForCausalLM, init, weights=True)
        base = base.to(torch.bfloat16) if device == "cuda" else base.float()
        if adapters is None:
            lora = peft.LoraConfig(
                r=16, lora_alpha=32, lora_dropout=0.05, target_modules="all-linear", task_type="CAUSAL_LM"
            )
            self.model = peft.get_peft_model(base, lora)
        else:
            folder = need_weights(adapters, ADAPTERS).parent
            try:
                self.model = peft.PeftModel.from_pretrained(base, str(folder))
            except Exception as error:
                raise InputError(
                    f"the adapters in {folder} cannot be loaded ({reason_of(error)}); train the rater again"
                ) from None
        self.model.to(device)
        self.words = torch.tensor(_answers(self.tokenizer, settings.words), device=device)

    def loss(self, prompts: Sequence[str], targets: Any) -> Any:
        said = library("torch").log_softmax(self._at_the_end(prompts), dim=-1)[:, self.words]
        return -(targets * said[:, 1] + (1.0 - targets) * said[:, 0]).mean()

    def log_odds(self, prompts: Sequence[str]) -> Any:
        said = self._at_the_end(prompts)[:, self.words]
        return said[:, 1] - said[:, 0]

    def _at_the_end(self, prompts: Sequence[str]) -> Any:
        """The model's numbers for the token after each prompt; padding comes after it and is never looked at."""
        read = self.tokens(prompts, end=True)
        last = read["attention_mask"].sum(dim=1) - 1
        said = self.model(**read).logits
        return said[library("torch").arange(len(prompts), device=self.device), last].float()

    def parts(self) -> dict[str, Any]:
        return {name: part for name, part in self.model.named_parameters() if part.requires_grad or "lora_" in name}


def check_encoder(init: str) -> None:
    """Refuse a model that cannot be loaded, before anything is paid for."""
    transformers = library("transformers")
    _loaded(transformers.AutoTokenizer, init)
    _loaded(transformers.AutoModel, init, weights=True)


def _answers(tokenizer: Any, words: tuple[str, str]) -> list[int]:
    found = [tokenizer.encode(word, add_special_tokens=False)[:1] for word in words]
    if not all(found) or found[0] == found[1] or tokenizer.unk_token_id in (found[0][0], found[1][0]):
        raise InputError(f"the model's tokenizer cannot tell {words[0]!r} from {words[1]!r}; give other words")
    return [found[0][0], found[1][0]]


def _loaded(kind: Any, init: str, *, weights: bool = False) -> Any:
    """Weights are safetensors: transformers would also take pickles, which can run code."""
    safe = {"use_safetensors": True} if weights else {}
    return load_model("model", init, lambda: kind.from_pretrained(init, **safe))


def load_model(what: str, name: str, load: Callable[[], Any]) -> Any:
    """A model from a folder or by a name, loaded without a word."""
    check_place(what, name)
    try:
        with quiet_libraries():
            return load()
    except Exception as error:
        raise InputError(
            f"the {what} {name!r} cannot be loaded ({reason_of(error)}); give the path of its folder, with weights in "
            "safetensors"
        ) from None


def check_place(what: str, name: str) -> None:
    """Refuse a path where no folder is; anything else is a name."""
    if not Path(name).expanduser().is_dir() and (name.startswith((".", "~")) or Path(name).is_absolute()):
        raise InputError(f"the {what} {name!r} cannot be loaded: there is no such folder; check the path")


def check_folder(folder: Path) -> None:
    """Refuse a folder that is no whole rater, by its files alone: no model is loaded."""
    settings = read_settings(folder)
    need_weights(folder, HEAD if settings.kind == "encoder" else ADAPTERS)
    if settings.kind == "causal" and Path(settings.init).is_absolute() and not Path(settings.init).is_dir():
        raise InputError(f"{folder} was trained from the model {settings.init}, which is gone; bring that folder back")
