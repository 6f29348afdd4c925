"""A trained rater that answers: its folder in, probabilities out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ratewise.core.checks import Floats
from ratewise.training.calibrated import Calibrated
from ratewise.training.folder import Settings, read_settings
from ratewise.training.networks import Causal, Encoder, Network, answer
from ratewise.training.torches import device_of


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
