"""A trained rater that answers: its folder in, probabilities out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ratewise.core.checks import Floats
from ratewise.errors import InputError
from ratewise.learn.training.calibrated import Calibrated
from ratewise.learn.training.folder import Settings, read_settings
from ratewise.learn.training.networks import ADAPTERS, HEAD, Causal, Encoder, Network, answer
from ratewise.learn.training.torches import device_of
from ratewise.learn.training.weights import need_weights


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
