"""`reproduce`: the paper's figures as CSV, SVG and PNG, and a page with its claims and whether they hold."""

import html
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ratewise.core.checks import choice, number
from ratewise.core.document import Heading, Note, Part, Picture, Sentence
from ratewise.core.names import FIGURES
from ratewise.core.result import Result
from ratewise.errors import TableError
from ratewise.lab.claims import Verdict, Word, verdicts
from ratewise.lab.figures import WORLDS, Point, curves, points_of
from ratewise.lab.reproduction import EXPERIMENTS, find_dataset, run_experiment
from ratewise.lab.results import Simulation
from ratewise.lab.simulate import Progress
from ratewise.report.page import page
from ratewise.report.pictures import LINES, QUIET, draw_simulation, grid, named_at_the_end, save
from ratewise.tables.write import make_folder, write_rows, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEADS: dict[Word, str] = {"holds": "✓ holds", "fails": "✗ fails here", "cannot tell": "? cannot tell"}
_WIDER = "body { max-width: 70rem; } img { width: 100%; }"
_TITLE = "The paper's experiments, rerun"
_ABOUT = (
    "Figures and claims of Cost-Optimal Active AI Model Evaluation (Angelopoulos, Eisenstein, Berant, Agarwal, "
    "Fisch, 2025), by ratewise. Each figure says whether it rests on the paper's own data."
)


@dataclass(frozen=True, slots=True)
class Reproduced:
    """One figure: what it was made from, its files, or why it was not made."""

    name: str
    source: str
    differs: str = ""  # why the paper may have found something else
    files: tuple[str, ...] = ()
    missing: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction(Result):
    """All figures, and the paper's claims with a verdict each; partial where it was stopped."""

    folder: str
    figures: tuple[Reproduced, ...]
    claims: tuple[Verdict, ...] = ()
    partial: bool = False

    def document(self) -> list[Part]:
        parts: list[Part] = [Heading(_TITLE, 1), Sentence(_ABOUT)]
        if self.partial:
            parts.append(Note("Partial: stopped before the end."))
        if self.claims:
            parts.append(Heading("Claims"))
        for claim in self.claims:
            said = f" {claim.where}{', as corrected' * claim.corrected}: {claim.text} ({claim.evidence})"
            parts.append(Sentence(said, lead=_LEADS[claim.verdict]))
        for figure in self.figures:
            parts.append(Heading(figure.name))
            if figure.missing is not None:
                parts.append(Note(f"Not made: {figure.missing}"))
                continue
            files = Sentence(", ".join(figure.files), "quiet")
            parts += [Sentence(f"{figure.source} {figure.differs}".strip()), files, Picture(partial(_image, figure))]
        return parts


def reproduce_all(
    figures: Sequence[str],
    folder: str,
    *,
    data: str | None = None,
    tables: str | None = None,
    trials: int = 2000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Make the figures one by one; one without data is left out with its reason, or an error if it is the only one."""
    asked = tuple(dict.fromkeys(choice(name, FIGURES, name="figure") for name in figures))
    trials = int(number(trials, name="trials", minimum=2))
    make_folder(folder)
    made: list[Reproduced] = []
    found: dict[str, list[Point] | list[Simulation]] = {}
    stopped = False
    bar = _bar(progress, trials * sum(len(EXPERIMENTS.get(name, ())) for name in asked))
    for name in asked:
        try:
            if name in WORLDS:
                found[name] = points = points_of(name)
                source = "A made-up world, by exact integrals; Var(H), MSE(H, G), Var(U) and costs are in the CSV."
                files = _files(name, [p.to_dict() for p in points], plot_points(points), folder)
                made.append(Reproduced(name, source, files=files))
            else:
                figure, found[name] = simulated = _real(name, folder, data, tables, trials, seed, workers, bar)
                made.append(figure)
                stopped = any(s.partial for s in simulated[1])
        except TableError as error:
            if len(asked) == 1:
                raise
            made.append(Reproduced(name, "", missing=str(error)))
        except KeyboardInterrupt:
            stopped = True
        if stopped:
            break
    done = Reproduction(folder, tuple(made), tuple(verdicts(found)), stopped)
    kept = {"trials": trials, "seed": seed, **{k: done.to_dict()[k] for k in ("figures", "claims", "partial")}}
    write_text(os.path.join(folder, "claims.json"), json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    write_text(os.path.join(folder, "index.html"), page(_TITLE, done.document(), style=_WIDER))
    return done


def _bar(progress: Progress | None, total: int) -> Callable[[], Progress]:
    """One progress bar for the trials of all figures; each call gives the part of the next experiment."""
    done = 0

    def part() -> Progress:
        start = done

        def told(trials: int, _: int) -> None:
            nonlocal done
            done = start + trials
            if progress is not None:
                progress(done, total)

        return told

    return part


def _real(
    name: str,
    folder: str,
    data: str | None,
    tables: str | None,
    trials: int,
    seed: int,
    workers: int | None,
    bar: Callable[[], Progress],
) -> tuple[Reproduced, list[Simulation]]:
    experiments = EXPERIMENTS[name]
    dataset = find_dataset(experiments[0].dataset, data=data, tables=tables, output=folder, seed=seed)
    found: list[Simulation] = []
    for experiment in experiments:
        found.append(run_experiment(experiment, dataset, trials=trials, seed=seed, workers=workers, progress=bar()))
        if found[-1].partial:
            break
    rows = [{"experiment": e.title, **r.to_dict()} for e, s in zip(experiments, found, strict=False) for r in s.results]
    picture, axes = grid(len(found), 3)
    for row, experiment, simulation in zip(axes, experiments, found, strict=False):
        draw_simulation(row, simulation)
        row[0].set_title(f"{experiment.title}\nmean squared error", loc="left", fontsize=9)
    return Reproduced(name, dataset.source, dataset.differs, _files(name, rows, picture, folder)), found


def _files(name: str, rows: list[dict[str, Any]], picture: "Figure", folder: str) -> tuple[str, ...]:
    write_rows(os.path.join(folder, f"{name}.csv"), rows)
    for ending in ("svg", "png"):
        save(picture, os.path.join(folder, f"{name}.{ending}"))
    return tuple(f"{name}.{ending}" for ending in ("csv", "svg", "png"))


def plot_points(points: Sequence[Point]) -> "Figure":
    """A panel for each letter, a line for each Var(H), the lower bound dotted."""
    names = sorted({p.panel for p in points})
    picture, axes = grid(len(names) // 3, 3)
    flat = [ax for row in axes for ax in row]
    for panel, ax in zip(names, flat, strict=True):
        _panel(ax, curves(points, panel))
    return picture


def _panel(ax: "Axes", found: dict[float, list[Point]]) -> None:
    for (V, curve), colour in zip(found.items(), LINES, strict=False):
        x = [p.x for p in curve]
        ax.plot(x, [p.y for p in curve], color=colour, label=f"Var(H) {V:g}")
        if curve[0].lower_bound is not None:
            ax.plot(x, [p.lower_bound or 0.0 for p in curve], color=colour, linestyle=":", linewidth=1)
    first = next(iter(found.values()))[0]
    ax.axhline(1.0, color=QUIET, linewidth=0.8, zorder=0)
    ax.set_xlabel(first.x_name, fontsize=9)
    if first.x_name == "cost ratio":
        ax.set_xscale("log")
    fixed = "" if first.x_name == "MSE(H, G)" else f", MSE = {first.weak_error:g}"
    ax.set_title(f"error ratio {first.y_name}{fixed}", loc="left", fontsize=9)
    ax.set_ylim(bottom=0.0)
    named_at_the_end(ax)


def _image(figure: Reproduced) -> str:
    """The figure from its file, with a link to its numbers."""
    csv, svg, _ = map(html.escape, figure.files)
    return f"<a href='{csv}'><img src='{svg}' alt='{html.escape(figure.name)}'></a>"
