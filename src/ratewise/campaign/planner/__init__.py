"""The planner: what to buy next and what may be paid for it, as pure functions of what the log says."""

from ratewise.campaign.planner.decide import BATCH as BATCH
from ratewise.campaign.planner.decide import decide as decide
from ratewise.campaign.planner.draw import Drawn as Drawn
from ratewise.campaign.planner.draw import draw_batch as draw_batch
from ratewise.campaign.planner.draw import second_draw as second_draw
from ratewise.campaign.planner.plan import LEAST_LABELS as LEAST_LABELS
from ratewise.campaign.planner.plan import Purse as Purse
from ratewise.campaign.planner.plan import money_left as money_left
from ratewise.campaign.planner.plan import next_plan as next_plan
from ratewise.campaign.planner.plan import overlapping as overlapping
from ratewise.campaign.planner.state import Action as Action
from ratewise.campaign.planner.state import Close as Close
from ratewise.campaign.planner.state import Done as Done
from ratewise.campaign.planner.state import Draw as Draw
from ratewise.campaign.planner.state import DrawAgain as DrawAgain
from ratewise.campaign.planner.state import GiveUp as GiveUp
from ratewise.campaign.planner.state import Open as Open
from ratewise.campaign.planner.state import OpenRound as OpenRound
from ratewise.campaign.planner.state import Overlap as Overlap
from ratewise.campaign.planner.state import Refit as Refit
from ratewise.campaign.planner.state import State as State
from ratewise.campaign.planner.state import TakeUp as TakeUp
from ratewise.campaign.planner.state import Terms as Terms
from ratewise.campaign.planner.state import Wait as Wait
from ratewise.campaign.planner.state import is_late as is_late
from ratewise.store.queue import Batch as Batch
