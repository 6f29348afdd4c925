"""The planner: what to buy next and what may be paid for it, as pure functions of what the log says."""

from ratewise.campaign.planner.decide import BATCH, decide
from ratewise.campaign.planner.draw import BatchDraw, draw_batch, second_draw
from ratewise.campaign.planner.plan import LEAST_LABELS, PlanMoney, money_left, next_plan, overlapping
from ratewise.campaign.planner.state import (
    Action,
    Ahead,
    CampaignTerms,
    Close,
    Done,
    DrawAgain,
    DrawItems,
    GiveUp,
    Open,
    OpenRound,
    Overlap,
    State,
    TakeUp,
    Train,
    Wait,
    is_late,
)
from ratewise.store.queue import Batch

__all__ = [
    "BATCH", "LEAST_LABELS", "Action", "Ahead", "Batch", "BatchDraw", "CampaignTerms", "Close", "Done", "DrawAgain",
    "DrawItems", "GiveUp", "Open", "OpenRound", "Overlap", "PlanMoney", "State", "TakeUp", "Train", "Wait", "decide",
    "draw_batch", "is_late", "money_left", "next_plan", "overlapping", "second_draw",
]  # fmt: skip
