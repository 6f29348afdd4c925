"""How long people are without a question, and what it costs that they need not wait: campaigns on a clock of their own.

Answers take log-normal times, one person leaves for an hour with a question in hand. Rounds that overlap are played
beside rounds that wait for their last answer. Run: python benchmarks/waiting.py --campaigns 40
"""

import argparse
import sys
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import numpy as np

from ratewise.campaign.estimates import estimate_history
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.lab.worlds import calibrated

HOUR = 3600.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=20)
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--budget", type=int, default=400)
    given = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    print(f"{given.people} people, a budget of {given.budget} labels, {given.campaigns} campaigns each")
    print("rounds    who leaves   without a question: mean, most   minutes   rounds   RMSE   mean SE")
    for leaves in ((), ((1, 200.0, HOUR),)):
        for votes in (0, 1):
            found = np.array([one(i, given, votes, leaves) for i in range(given.campaigns)])
            idle, most, minutes, rounds = found[:, 0].mean(), found[:, 0].max(), found[:, 1].mean(), found[:, 2].mean()
            error, se = float(np.sqrt(np.mean(found[:, 3] ** 2))), found[:, 4].mean()
            print(
                f"{'overlap' if votes else 'wait':8}  {'one' if leaves else 'nobody':10}  {idle:18.2%}, {most:7.2%}"
                f"   {minutes:11.1f}   {rounds:6.1f}   {error:.4f}   {se:.4f}"
            )


def one(seed: int, given: argparse.Namespace, votes: int, leaves: tuple[tuple[int, float, float], ...]) -> list[float]:
    """One campaign: share of time without a question, minutes, rounds, error and standard error."""
    world = calibrated(3000, mean=0.7, spread=0.7, rng=np.random.default_rng([seed, 5]))
    pool = RehearsalPool.of(world.weak, world.strong, prices=(Decimal("0.05"), Decimal(1)), seed=seed)
    game = Rehearsal(pool, pool.terms(budget=Decimal(given.budget), votes=votes))
    rng = np.random.default_rng([seed, 6])
    crowd = import_module("crowd").Crowd(
        game, seconds=lambda person, item: rng.lognormal(3.0, 0.8), people=given.people, leaves=leaves, look=1.0
    )
    crowd.play()
    found = estimate_history(game.history, game.terms.wanted)
    assert found is not None
    assert found.standard_error is not None
    truth = float(world.strong.mean())
    return [crowd.idle_share, crowd.now / 60, game.history.rounds, found.value - truth, found.standard_error]


if __name__ == "__main__":
    main()
