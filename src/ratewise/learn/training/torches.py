"""torch, imported when it is needed, and the device to compute on."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ratewise.errors import InputError

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
