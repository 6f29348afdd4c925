"""Draw the README's picture from the demo's plan: python docs/make_picture.py."""

import pathlib
import tempfile

from ratewise import plan, plot_plan
from ratewise.cli.demo import BUDGET, POOL, STRONG_COST, WEAK_COST, make_campaign
from ratewise.report.pictures import save

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make_campaign(folder, 7)
        made = plan(
            f"{folder}/pilot.csv", weak="judge", strong="human", weak_cost=WEAK_COST, strong_cost=STRONG_COST,
            budget=BUDGET, pool_size=POOL, estimand="pool",
        )  # fmt: skip
    save(plot_plan(made), str(pathlib.Path(__file__).parent / "pictures" / "plan.svg"))
