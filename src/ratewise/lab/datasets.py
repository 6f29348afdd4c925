"""The paper's four datasets: your own copy in the form its publisher ships, or a stand-in for it."""

import csv
import io
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, choice
from ratewise.core.draw import uniform
from ratewise.core.ratings import Mask
from ratewise.errors import InputError, TableError
from ratewise.learn.networks import Network
from ratewise.learn.rater_folder import SETTINGS, TrainedOn
from ratewise.learn.trainer import train_rater
from ratewise.tables import Table, read_table
from ratewise.tables.cells import Texts
from ratewise.tables.engine import COUNTED, one_line, shortened

Folder: TypeAlias = str | os.PathLike[str]
Name = Literal["imagenet", "arena", "aqa", "seahorse"]

WHERE: dict[str, str] = {
    "imagenet": (
        "get https://github.com/facebookresearch/imagenetx and put model_predictions/base/ResNet50.csv and"
        " imagenet_x/annotations/filename_label.csv into the folder, in these subfolders or without them"
    ),
    "arena": (
        "get https://huggingface.co/datasets/lmsys/lmsys-arena-human-preference-55k (or Kaggle's lmsys-chatbot-arena),"
        " put train.csv into the folder and add a ratings.csv of your own with the columns id, weak (probability that"
        " model_a wins) and, if there is a better rater than the human vote, strong (1, 0, or 0.5 for a tie)"
    ),
    "aqa": (
        "get https://github.com/google-research-datasets/Attributed-QA, unpack its ratings.zip and put ratings.csv into"
        " the folder"
    ),
    "seahorse": (
        "get https://storage.googleapis.com/seahorse-public/seahorse_data.zip, unpack test.tsv into the folder and add"
        " a ratings.csv of your own with the columns gem_id, weak (probability that the summary is attributable, for"
        " example by google/seahorse-xxl-q4) and, if it covers several models, model"
    ),
}
"""What to get, from where, and which files go into the folder."""

_PAIR = ("gpt-4-1106-preview", "claude-2.1")
_RETRIEVE_THEN_READ = "RTR"
_MODEL = "mt5_xxl"
_MOST_LISTED = 12


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Weak and strong rating of every item, none missing, and plainly what it is."""

    name: str
    source: str  # one sentence: what this is and whether it is the paper's own data
    weak: Floats
    strong: Floats
    transfer: tuple[Floats, Floats] | None = None  # weak and strong ratings of related items (A1)
    differs: str = ""  # why the paper may have found something else


def load_imagenet(folder: Folder) -> Dataset:
    """H = 1[prediction = label], G = softmax of the predicted class; one item per row of ResNet50.csv."""
    predictions = read_table(_file("imagenet", folder, "ResNet50.csv", inside="model_predictions/base"))
    labels = read_table(_file("imagenet", folder, "filename_label.csv", inside="imagenet_x/annotations"))
    images = predictions.ids("file_name")
    label = _joined(images, labels.ids("file_name"), labels.numbers("label"))
    _refuse_missing(label, images, what="label", where=labels.name)
    weak = _shares(predictions.numbers("predicted_probability"), images, f"predicted_probability of {predictions.name}")
    strong = (predictions.numbers("predicted_class") == label).astype(np.float64)
    source = (
        f"ResNet50 on {len(images)} ImageNet validation images, as published with ImageNet-X; H is whether the"
        " prediction is right, G the softmax of the predicted class."
    )
    return Dataset("imagenet", source, weak, strong, differs=_UNKNOWN_RESNET)


def load_arena(folder: Folder) -> Dataset:
    """H and G of "the paper's first model wins", whichever side it was shown on; a tie is 0.5.

    Every comparison of the pair needs a score. Of the other comparisons, those with a score are the transfer
    data, as "model_a wins": an autorater that was trained on some of them has no honest score for those.
    """
    votes = read_table(_file("arena", folder, "train.csv"))
    ratings = read_table(_file("arena", folder, "ratings.csv"))
    ids = votes.ids("id")
    weak = _scores(ratings, "weak", ids)
    own = "strong" in ratings.columns
    strong = _scores(ratings, "strong", ids) if own else _human_votes(votes, ids)
    shown, swapped = _sides(votes, _PAIR)
    target = shown | swapped
    for column, values in {"weak": weak, "strong": strong}.items():
        _refuse_missing(values[target], ids[target], what=f"{column} rating", where=ratings.name)
    other = ~target & ~np.isnan(weak) & ~np.isnan(strong)
    source = (
        f"Chatbot Arena 55k, {int(target.sum())} comparisons of {_PAIR[0]} (wins) with {_PAIR[1]}, transfer from"
        f" {int(other.sum())} others; H is {'your own strong rating' if own else 'the human vote'} and G your own weak"
        " rating, as the paper's, Gemini 1.5 Flash and Gemma, are not published."
    )
    return Dataset("arena", source, *_split(weak, strong, target, swapped, other))


def load_aqa(folder: Folder) -> Dataset:
    """H = the human rating that the answer is attributable, G = the NLI score; items without H are left out.

    The retrieve-then-read system (RTR-…) with the best mean human rating, as in the paper; if no name starts so, the
    best of all. Without a column nli_score, G is the verdict of AutoAIS, 1 or 0.
    """
    table = read_table(_file("aqa", folder, "ratings.csv"))
    systems = table.texts("system_name")
    strong = _verdicts(table, "human_rating", yes="Y", no="N")
    rated = ~np.isnan(strong)
    if not rated.any():
        raise TableError(f"column 'human_rating' of {table.name} has no Y or N; {WHERE['aqa']}")
    chosen, how = _best_system(systems[rated], strong[rated])
    rows = rated & (systems == chosen)
    column = "nli_score" if "nli_score" in table.columns else "auto_ais"
    score = table.numbers(column, missing="allow") if column == "nli_score" else _verdicts(table, column, "Y", "N")
    questions = table.texts("question")[rows]
    _refuse_missing(score[rows], questions, what=column, where=table.name)
    weak = _shares(score[rows], questions, f"{column} of {table.name}")
    source = (
        f"The paper's dataset: Attributed QA, {len(weak)} answers of the system {chosen} ({how}; the paper takes the"
        f" best retrieve-then-read system); H is the human rating of attribution, G the published {column} of T5."
    )
    return Dataset("aqa", source, weak, strong[rows])


def load_seahorse(folder: Folder) -> Dataset:
    """H = the human rating of attribution (question4): Yes is 1, No is 0, summaries with neither are left out.

    Only the test set: the published autorater was trained on the others.
    """
    table = _read_tsv(_file("seahorse", folder, "test.tsv", inside="seahorse_data"))
    models = table.texts("model")
    of_model = models == _MODEL
    if not of_model.any():
        raise TableError(f"{table.name} has no summary by the model {_MODEL!r}; {_there_are(models)}")
    verdict = _verdicts(table, "question4", yes="Yes", no="No")
    rows = of_model & ~np.isnan(verdict)
    if not rows.any():
        raise TableError(f"column 'question4' of {table.name} has no Yes or No for the model {_MODEL!r}")
    articles = table.texts("gem_id")[rows]
    ratings = read_table(_file("seahorse", folder, "ratings.csv"))
    weak = _scores(ratings, "weak", articles, key="gem_id", model=_MODEL)
    _refuse_missing(weak, articles, what="weak rating", where=ratings.name)
    source = (
        f"SEAHORSE test set, {len(weak)} summaries by {_MODEL} ({int(of_model.sum()) - len(weak)} more without a Yes"
        " or No left out); H is the human rating of attribution and G your own weak rating, as the paper's, on mT5 13B,"
        " is not published."
    )
    return Dataset("seahorse", source, weak, verdict[rows])


_UNKNOWN_RESNET = "The paper's images, but which ResNet it took is unknown: it says only that it was pretrained."
_DIFFERS: dict[str, str] = {
    "imagenet": _UNKNOWN_RESNET,
    "arena": (
        "The paper's H is the majority of ten LLM verdicts, which an LLM fine-tuned on such verdicts predicts well; a"
        " human vote with ties is much harder to predict (the weak rater leaves 73 % of its variance), and three"
        " verdicts do not tell on which items."
    ),
    "aqa": (
        "The paper takes one system and asks whether its answers are attributable; this weak rater is better (it leaves"
        " 32 % of the variance) and knows more of where it errs."
    ),
    "seahorse": (
        "The paper's ratings are 0 or 1, for which u = g(1 − g) is right; these are graded, so that it is not, and the"
        " oracle knows of large and of small errors."
    ),
}
"""Why the stand-in for a dataset may show something else than the paper."""

PUBLISHED: dict[str, Callable[[Folder], Dataset]] = {
    "imagenet": load_imagenet,
    "arena": load_arena,
    "aqa": load_aqa,
    "seahorse": load_seahorse,
}
"""The loader of each dataset."""

_STAND_INS: dict[str, tuple[str, str]] = {
    "imagenet": (
        "imagenet_resnet50.parquet",
        "ResNet50 on the {items} ImageNet validation images; H is whether the prediction is right, G the softmax of the"
        " predicted class.",
    ),
    "arena": (
        "chatbot_arena_33k.parquet",
        "A stand-in, not the paper's data: Chatbot Arena 33k, {items} comparisons of {pair[0]} (wins) with {pair[1]},"
        " the pair with the most rows, transfer from the others; H is the human vote, G a probability from three LLM"
        " judges.",
    ),
    "aqa": (
        "evouna_qa.parquet",
        "A stand-in, not the paper's data: EVOUNA, {items} answers of five systems to open questions; H is the human"
        " judgement that the answer is correct, G a classifier's probability.",
    ),
    "seahorse": (
        "summeval_llm.parquet",
        "A stand-in, not the paper's data: SummEval, {items} ratings of summaries on a scale of 1 to 5; H is the mean"
        " of three experts, G the mean of four GPT-3.5 prompts, a weak rater that is not very good.",
    ),
}


def stand_in(name: Name, folder: Folder) -> Dataset:
    """The table with columns g and h that stands in for a dataset where the paper's own cannot be had."""
    file, sentence = _STAND_INS[choice(name, get_args(Name), name="dataset")]
    path = _folder(name, folder) / file
    if not path.is_file():
        raise TableError(
            f"{one_line(str(path.parent))} has no {file}, the stand-in for {name}; get it, or for a copy of the paper's"
            f" dataset, {WHERE[name]}"
        )
    table = read_table(path)
    weak, strong = table.numbers("g"), table.numbers("h")
    if name != "arena":
        return Dataset(name, sentence.format(items=len(weak)), weak, strong, differs=_DIFFERS[name])
    both = zip(table.texts("model_a"), table.texts("model_b"), strict=True)
    counts = Counter((min(a, b), max(a, b)) for a, b in both)  # whichever was shown first
    pair = min(counts, key=lambda pair: (-counts[pair], pair))
    shown, swapped = _sides(table, pair)
    target = shown | swapped
    ratings = _split(weak, strong, target, swapped, ~target)
    return Dataset(name, sentence.format(items=int(target.sum()), pair=pair), *ratings, _DIFFERS[name])


# Files


def _folder(name: str, folder: Folder) -> Path:
    path = Path(folder)
    if not path.is_dir():
        raise TableError(f"{one_line(str(path))} is not a folder; for {name}, {WHERE[name]}")
    return path


def _file(name: str, folder: Folder, file: str, *, inside: str = "") -> Path:
    """The file in the folder, or in the subfolder in which its publisher ships it."""
    path = _folder(name, folder)
    for candidate in (path / file, path / inside / file):
        if candidate.is_file():
            return candidate
    raise TableError(f"{one_line(str(path))} has no {file}; for {name}, {WHERE[name]}")


def _read_tsv(path: Path) -> Table:
    """A tab-separated file as a table of texts.

    One row per line, if that gives rows as wide as the header: a text that merely starts with a quote must not
    swallow the rows after it. Otherwise cells are quoted as in CSV and may hold tabs and line breaks.
    """
    name = one_line(path.name)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        lines = (line.removesuffix("\r") for line in text.split("\n"))
        rows = [[_bare(cell) for cell in line.split("\t")] for line in lines if line]
        if _ragged(rows) is not None:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), "excel-tab") if row]
    except UnicodeDecodeError as error:
        raise TableError(f"{name} is not UTF-8 text; unpack it again") from error
    except csv.Error as error:
        raise TableError(f"{name} cannot be read as tab-separated values: {error}; unpack it again") from error
    if not rows:
        raise TableError(f"{name} is empty; unpack it again")
    broken = _ragged(rows)
    if broken is not None:
        raise TableError(
            f"{name} cannot be read as tab-separated values: row {broken} has {len(rows[broken])} cells where the"
            f" header has {len(rows[0])} {COUNTED}; unpack it again"
        )
    columns = zip(*rows[1:], strict=True) if rows[1:] else [()] * len(rows[0])
    cells = {head: np.array(column, dtype=object) for head, column in zip(rows[0], columns, strict=True)}
    return read_table(cells, name=name)


def _bare(cell: str) -> str:
    """The cell without quotes around it."""
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _ragged(rows: list[list[str]]) -> int | None:
    """The first row that is not as wide as the header."""
    return next((number for number, row in enumerate(rows) if len(row) != len(rows[0])), None)


# Ratings


def _verdicts(table: Table, column: str, yes: str, no: str) -> Floats:
    """1 for yes, 0 for no, NaN for anything else."""
    words = table.texts(column, missing="allow")
    return np.where(words == yes, 1.0, np.where(words == no, 0.0, np.nan))


def _human_votes(votes: Table, ids: Texts) -> Floats:
    """1 where model_a won, 0 where model_b won, 0.5 for a tie; exactly one of the three must be marked."""
    won, lost, tied = (votes.numbers(f"winner_{side}") for side in ("model_a", "model_b", "tie"))
    marked = np.sort(np.stack([won, lost, tied]), axis=0)
    odd = (marked != np.array([[0.0], [0.0], [1.0]])).any(axis=0)
    if odd.any():
        raise TableError(
            f"{votes.name} must have a single 1 in winner_model_a, winner_model_b and winner_tie; {int(odd.sum())} rows"
            f" have not, such as id {shortened(ids[odd][0])}: get the file again"
        )
    return won + 0.5 * tied


def _scores(ratings: Table, column: str, wanted: Texts, *, key: str = "id", model: str | None = None) -> Floats:
    """The probabilities of the wanted keys, NaN where there is none; of one `model`, if the table names models."""
    values = ratings.numbers(column, missing="allow")
    keys = ratings.texts(key)
    if model is not None and "model" in ratings.columns:
        kept = ratings.texts("model") == model
        keys, values = keys[kept], values[kept]
    repeated = next((text for text, times in Counter(keys).most_common(1) if times > 1), None)
    if repeated is not None:
        hint = "; add a column 'model' if it covers several models" if model is not None else ""
        raise TableError(f"{ratings.name} has the {key} {shortened(repeated)} twice; rate every item once{hint}")
    _shares(values, keys, f"{column} of {ratings.name}")
    return _joined(wanted, keys, values)


def _joined(wanted: Texts, keys: Texts, values: Floats) -> Floats:
    """The value of every wanted key, NaN where there is none."""
    known = dict(zip(keys, values, strict=True))
    return np.array([known.get(key, np.nan) for key in wanted], dtype=np.float64)


def _refuse_missing(values: Floats, items: Texts, *, what: str, where: str) -> None:
    gone = np.isnan(values)
    if gone.any():
        raise TableError(
            f"{where} has no {what} for {int(gone.sum())} of {len(values)} items, such as {shortened(items[gone][0])};"
            " every item needs one: add them"
        )


def _shares(values: Floats, items: Texts, place: str) -> Floats:
    """The values, if none is outside 0 to 1; NaN passes."""
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise TableError(
            f"{place} must be from 0 to 1; it is {values[outside][0]:g} for {shortened(items[outside][0])}"
            f" ({int(outside.sum())} of {len(values)} are outside): give probabilities"
        )
    return values


# Pairs, systems, models


def _sides(table: Table, pair: tuple[str, str]) -> tuple[Mask, Mask]:
    """Rows where the pair was shown in this order, and rows where it was shown the other way round."""
    a, b = table.texts("model_a"), table.texts("model_b")
    first, second = pair
    shown, swapped = (a == first) & (b == second), (a == second) & (b == first)
    if not (shown | swapped).any():
        pairs = np.array([" against ".join(sorted(both)) for both in zip(a, b, strict=True)], dtype=object)
        raise TableError(f"{table.name} has no comparison of {first!r} with {second!r}; {_there_are(pairs)}")
    return shown, swapped


def _split(
    weak: Floats, strong: Floats, target: Mask, swapped: Mask, other: Mask
) -> tuple[Floats, Floats, tuple[Floats, Floats] | None]:
    """Ratings of the target, turned round where it was swapped, and those of the others as they are."""
    g, h = (np.where(swapped, 1 - values, values)[target] for values in (weak, strong))
    return g, h, (weak[other], strong[other]) if other.any() else None


def _best_system(systems: Texts, strong: Floats) -> tuple[str, str]:
    """The best mean human rating among the retrieve-then-read systems, or among all if none is named so; and which."""
    names = sorted(set(systems))
    reading = [name for name in names if name.upper().startswith(_RETRIEVE_THEN_READ)]
    best = max(reading or names, key=lambda name: float(strong[systems == name].mean()))
    return best, f"the best human rating of {f'the {_RETRIEVE_THEN_READ} systems' if reading else 'all systems'}"


def _there_are(names: Texts) -> str:
    """The values that exist instead, the most frequent first."""
    counts = Counter(names)
    listed = ", ".join(f"{one_line(name)} ({rows} rows)" for name, rows in counts.most_common(_MOST_LISTED))
    more = len(counts) - _MOST_LISTED
    return f"choose one of {listed}" + (f" and {more} more" if more > 0 else "")


TEXT = ("question", "gold", "answer")
_TRAINED_ON = 12_000  # labels: a minute or two on a GPU, some hours without one
_TAUGHT_BY = 2000  # labels that teach the policies
_EVALUATED = 2500
_EPOCHS, _BATCH, _LONGEST = 3, 16, 64


def arena_like(
    tables: str | Path, folder: str | Path, *, system: str = "gpt4", init: str | None = None, seed: int = 0
) -> Dataset:
    """The rater's probabilities of a system that it has not seen, and of labels of the others that were kept aside.

    A rater that is in the folder already is used as it is.
    """
    path = Path(tables) / "evouna_qa.parquet"
    if not path.exists():
        raise TableError(f"there is no data for arena-like: {path} is missing; name the folder that has it (--tables)")
    table = read_table(path)
    systems, turn = table.texts("system"), uniform(table.ids(), seed=f"{seed}:arena-like")
    others = np.flatnonzero(systems != system)[np.argsort(turn[systems != system], kind="stable")]
    if others.size == table.rows:
        raise TableError(f"{path.name} has no system {system!r}")
    taught, teaching = others[:_TRAINED_ON], others[_TRAINED_ON : _TRAINED_ON + _TAUGHT_BY]
    model = _rater(table, taught, folder, init, seed)
    known = TrainedOn.read(Path(folder))
    here = np.flatnonzero(systems == system)
    here = here[np.argsort(turn[here], kind="stable")]
    rows, h = _rows(table), table.numbers("h")
    target, related = (
        np.array([i for i in part.tolist() if not known.knows(None, rows[i])]) for part in (here, teaching)
    )
    target = target[:_EVALUATED]
    weak, told = (model.probabilities([rows[i] for i in part.tolist()]) for part in (target, related))
    source = (
        f"Not the paper's data: answers of {system} to questions of EVOUNA with human verdicts; the weak rater is an "
        f"encoder with a head, trained here on {taught.size:,} labels of other systems; policies by transfer from "
        f"{related.size:,} further labels of those systems; {here.size - target.size:,} answers are left out, among "
        "them all whose texts it was trained on."
    )
    return Dataset("arena-like", source, weak, h[target], (told, h[related]))


def _rater(table: Table, taught: NDArray[np.intp], folder: str | Path, init: str | None, seed: int) -> Network:
    if not (Path(folder) / SETTINGS).exists():
        rows, h, ids, groups = _rows(table), table.numbers("h"), table.ids(), table.texts("qidx")
        columns = {name: [rows[i][k] for i in taught.tolist()] for k, name in enumerate(TEXT)}
        more = {"id": ids[taught], "q": groups[taught], "h": h[taught]}
        labelled = columns | {name: column.tolist() for name, column in more.items()}
        try:
            train_rater(
                labelled, text=TEXT, strong="h", output=folder, init=init, groups="q", epochs=_EPOCHS, batch=_BATCH,
                longest=_LONGEST, seed=seed,
            )  # fmt: skip
        except InputError as error:
            raise TableError(f"arena-like trains a rater first: {error}") from None
    return Network.load(folder)


def _rows(table: Table) -> list[tuple[str, ...]]:
    return list(zip(*(table.texts(name, missing="allow").tolist() for name in TEXT), strict=True))
