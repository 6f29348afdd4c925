"""The training loop: epochs until labels that are held out are predicted no better; goes on after a kill."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.learn.training.networks import Network, answer
from ratewise.learn.training.torches import half, seeded, torch_module
from ratewise.learn.training.weights import read_weights, save_weights

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
