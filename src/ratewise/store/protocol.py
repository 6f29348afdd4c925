"""What planners and clients need of a queue, whether it is a database or in memory."""

from collections.abc import Sequence
from typing import Protocol

from ratewise.store.records import AgainRows, Batch, Demand, ItemRows, NewAgain, NewBatch, NewDraws, Refit, RoundRow


class PlanningQueue(Protocol):
    """Rounds, batches, draws and sums."""

    def meta(self, key: str) -> str | None:
        """A fact about the campaign."""
        ...

    def set_meta(self, key: str, value: str | None) -> None:
        """Change a fact; `None` forgets it."""
        ...

    def totals(self) -> tuple[int, int]:
        """(reserved, spent)."""
        ...

    def paid_beside(self) -> int:
        """What was paid for hidden checks and repeats, which belong to no round."""
        ...

    def rounds(self, after: int = 0) -> Sequence[RoundRow]:
        """Rounds with a number above `after`, in order."""
        ...

    def batches(self, number: int) -> tuple[Batch, ...]:
        """What a round has taken up."""
        ...

    def open_questions(self) -> tuple[int, int]:
        """(weak, strong): how many have no answer yet."""
        ...

    def open_by_step(self, before: int | None = None) -> dict[int, int]:
        """How many questions of each rater have no answer yet; raters without any may be absent.

        With `before`, only questions about items before that one.
        """
        ...

    def demand(self, step: int, votes: int, at: float) -> Demand:
        """What people want of a step at this time, in seconds since 1970; each question takes so many votes."""
        ...

    def settled_before(self, position: int) -> int:
        """What all items before this one have cost."""
        ...

    def item_rows(self, first: int, end: int, later_raters: int) -> ItemRows:
        """Items from `first` to before `end`, with all that is known of them."""
        ...

    def failed_before(self, position: int) -> int:
        """What failed calls about items before this one have cost."""
        ...

    def open_round(self, number: int, first: int, plan: str) -> None:
        """Freeze a round's policy."""
        ...

    def take_up(self, batch: NewBatch, budget: int | None) -> bool:
        """Ask for weak ratings and hold money for the rest; False where the budget forbids it."""
        ...

    def draw(self, new: NewDraws) -> bool:
        """Write down rates and draws, and ask for what was drawn; False where an answer was just taken back."""
        ...

    def draw_again(self, new: NewAgain, budget: int | None) -> bool:
        """Write down a second draw of items passed over, and ask for what was drawn; False if the budget forbids it."""
        ...

    def again(self, look: int) -> AgainRows:
        """The draws of a second look; none where it was not made yet."""
        ...

    def close_round(self, number: int, items: int) -> bool:
        """Close the oldest open round, whose answers are all in; False where one was just taken back."""
        ...

    def refit_rounds(self) -> Sequence[int]:
        """After how many closed rounds there was a refit, in order."""
        ...

    def refit(self, number: int) -> Refit:
        """The refit after so many closed rounds."""
        ...

    def keep_refit(self, refit: Refit) -> bool:
        """Write a refit down; False where there is one of these rounds already."""
        ...

    def give_up(self, reason: str) -> int:
        """Give up open questions that nobody has claimed, at no cost; returns how many there were."""
        ...
