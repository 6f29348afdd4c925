"""Weights as files: safetensors and nothing else, because a pickle runs whatever its writer put into it."""

import json
from pathlib import Path
from typing import Any

from ratewise.errors import InputError
from ratewise.learn.training.torches import NEEDED

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
