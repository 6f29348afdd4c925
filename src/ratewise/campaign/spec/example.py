"""What `ratewise init` writes: a campaign's TOML with every key explained, and a made-up table to try it on."""

import os
import secrets

import numpy as np

from ratewise.errors import InputError
from ratewise.raters.keys import keys_of
from ratewise.raters.kinds import KINDS
from ratewise.tables import Table, read_table, write_table
from ratewise.tables.engine import one_line
from ratewise.tables.write import write_text

ROWS = 2000
_SEED = 7
_SEEDS = 10**9
_ASKED = ("How do I cancel", "Why was I charged for", "Can I change", "Where do I find", "What happens to")
_THINGS = ("my subscription", "an order that is late", "my address", "the invoice", "my data", "a refund", "the app")
_ENDINGS = ("?", " before the end of the month?", " without calling anyone?", " if I have lost my password?")

_TEMPLATE = """\
# A campaign: how good is the thing that is rated, on average, found out with few expensive ratings and many cheap ones.
# Start it or go on with it:  ratewise run campaign.toml
# What is commented out is optional and shows its default or an example. Paths start at the folder of this file.

# name = "support-bot"            # letters, digits, - and _, at most 40; default: the name of this file
seed = 7                          # names the draws: campaigns with one seed ask for the same items
# method = "auto"                 # "auto": all raters together; "base": the last rater alone
# estimand = "pool"               # the mean over "pool": the items of the table; "population": where they come from
# level = 0.95                    # of the interval
# currency = "USD"                # of all prices, for reports
# claim = "The answer is right"   # what a yes means, for reports
# store = "support-bot.sqlite"    # where all is kept; default: <name>.sqlite; or postgresql://user@host/database
# learner = { kind = "words" }    # how texts become numbers: words, vectors, or embeddings and a model

[items]                           # what is rated: one row each
table = "items.csv"               # CSV, JSONL or Parquet, a folder of them, or another tool's file
# format = "inspect_ai"           # if the content is not to decide whose file it is
# at_most = 262144                # items taken in of a pool of more than 1,048,576 rows, which stays where it is
id = "id"                         # optional column of unique item ids; default: a number for each row
# features = ["length", "topic"]  # columns that may help to predict ratings and mistakes of the weak rater
# text = ["question", "answer"]   # columns of text to learn from
# uncertainty = "judge_doubt"     # column that is large where the weak rater may be wrong
# clusters = "conversation"       # column of items that belong together; the interval then counts clusters

# [inputs]                        # choose the items by strata, groups that are known beforehand; default: at random
# strata = "topic"                # the column that says which stratum an item is of
# shares = { easy = 1, hard = 3 } # of the items that are looked at; default: as in the table
# plan = "plan.json"              # instead of shares: a plan made with `ratewise plan --strata topic --json`
# centre = 0.5                    # what plans take for each stratum's mean; default: the plan's, or the scale's middle

# [start]                         # labels that are there already, and cost nothing
# labels = "known"                # the column they are in
# drawn = "at random"             # how: "at random", "by hand", or the name of a column of rates
# from = "last-release.toml"      # instead of labels: a finished campaign, whose labels teach this one where to look

# [question]                      # what is asked besides the mean: slices | compare | leaderboard | quantile
# kind = "slices"                 # an answer for each; a comparison needs system = "column", a quantile at = 0.9
# by = "topic"                    # the column that says which slice an item is of

[rating]
kind = "binary"                   # binary (yes or no) | likert (whole numbers) | score (any number) | pairwise (a or b)
# low = 1                         # the ends of the scale: likert and score need them, the others may not have them
# high = 5
# positive = "correct"            # of binary: the word that is 1, all others are 0; of score: scale = ["bad", "good"]

[goal]                            # when to stop: budget or within or both
budget = "200"                    # money in any unit, exact; never overspent
# within = 0.02                   # stop when the interval reaches this far to either side
# target_se = 0.01                # instead of within: stop when the standard error is this small
# decide = 0.9                    # instead of within: stop as soon as it is known on which side of this it is
# deadline = 2030-12-01T18:00:00Z # ask nothing after this moment; without the Z it is local time
# unanswered = "keep open"        # questions without an answer at the deadline; "give up": they count as missing

# The raters, from the cheapest to the one that is right. The last one is believed, the others only save its time.

[[raters]]
name = "judge"
KINDS_OF_RATERS
price = "0.01"                    # of one rating, exact
# price_column = "cost"           # instead of price: a column with the price of each item
# max_price = "0.05"              # the most one call can cost, if that is known only afterwards; default: price
# failed_price = "0"              # what a failed call costs if it does not say; default: price
# concurrency = 4                 # calls at once; default: 1
# batch = 1                       # questions in one call; default: 2000 for a column, 16 for a command, else 1
# timeout = 60                    # seconds a call may take
# attempts = 3                    # calls for one item before it is given up
# backoff = 1.0                   # seconds before the second attempt, twice as many before each one after it
# patience = 900                  # seconds that a busy rater may keep the run waiting before it ends
# per_minute = 600                # calls a minute; default: as many as it takes
# lost_calls = "ask again"        # calls that were open at a crash: "ask again" with the same key, or "count as paid"

[[raters]]                        # here a column stands in for people; in life one of the kinds above asks them
name = "human"
kind = "column"
column = "human"
price = "1"
"""


def _kind_lines() -> str:
    """The keys of every kind of rater; those of a column are in use."""
    chosen = 'kind = "column"'
    first = f"{chosen:<33} # {' | '.join(KINDS)}: who rates"
    shown = [
        (name, key.example, key.what) for name, kind in KINDS.items() for key in keys_of(kind).values() if key.what
    ]
    keys = [line.partition(" = ")[0] for _, line, _ in shown]
    lines = [
        f'{("" if name == "column" else "# ") + line:<33} # kind "{name}": {what}'
        for number, (name, line, what) in enumerate(shown)
        if keys[number] not in keys[:number]  # kinds may share a word
    ]
    return "\n".join([first, *lines])


EXAMPLE = _TEMPLATE.replace("KINDS_OF_RATERS", _kind_lines())


def write_example(folder_or_file: str, *, table: bool) -> tuple[str, ...]:
    """Write campaign.toml (or the file named *.toml) and, if asked, items.csv beside it; nothing is overwritten."""
    campaign = place_of(folder_or_file)
    items = os.path.join(os.path.dirname(campaign), "items.csv")
    paths = (campaign, items) if table else (campaign,)
    for path in paths:
        check_new(path)
    make_folder(os.path.dirname(campaign))
    if table:  # first, so that there is no campaign without its table
        write_table(made_up_items(), items)
    old, new = (f"{f'seed = {seed}':<34}#" for seed in (_SEED, new_seed()))  # the line up to its comment
    write_text(campaign, EXAMPLE.replace(old, new, 1))
    return paths


def new_seed() -> int:
    """A seed that no other campaign has."""
    return secrets.randbelow(_SEEDS)


def place_of(folder_or_file: str) -> str:
    """The file that a path stands for: itself, or campaign.toml in the folder."""
    named = folder_or_file.endswith(".toml") and not os.path.isdir(folder_or_file)
    return folder_or_file if named else os.path.join(folder_or_file, "campaign.toml")


def check_new(path: str) -> None:
    """Refuse to overwrite."""
    if os.path.lexists(path):
        raise InputError(f"{one_line(path)} is there already and is not overwritten; choose another folder")


def make_folder(folder: str) -> None:
    """Make the folder if it is not there."""
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{one_line(folder)} cannot be made: {reason.lower()}; choose another folder") from None


def made_up_items() -> Table:
    """Questions to a made-up assistant: a judge's probability that the answer was right, and whether it was."""
    rng = np.random.default_rng(_SEED)
    judge = np.round(rng.beta(0.8, 0.25, ROWS), 3)
    parts = [rng.choice(words, ROWS) for words in (_ASKED, _THINGS, _ENDINGS)]
    prompts = [f"{asked} {thing}{ending}" for asked, thing, ending in zip(*parts, strict=True)]
    columns = {
        "id": np.array([f"answer-{i:04d}" for i in range(ROWS)], dtype=object),
        "prompt": np.array(prompts, dtype=object),
        "judge": judge,
        "human": (rng.random(ROWS) < judge).astype(np.int64),
    }
    return read_table(columns, name="items")
