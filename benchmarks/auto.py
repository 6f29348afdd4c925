"""How good is `auto`? Against the paper's two methods and base on every real table, in streams and pools.

Reads ../shared/data, or the folder named by RATEWISE_DATA. Burn-in of 200 labels given to everyone. Prints a row per
cell and a summary: geometric means of error ratios, the worst cell against base, bias, coverage. `--write FILE` puts
them there. `--uncertainty random|reverse|constant` gives auto a useless u; `--features` the extra columns.
`--from-nothing` gives nobody a burn-in: total budgets of 30, 60 and 120, against strong ratings alone.
"""

import argparse
import os
import pathlib
import sys
import time

import numpy as np

import ratewise as rw

DATA = pathlib.Path(os.environ.get("RATEWISE_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))
BUDGETS = (100.0, 200.0, 400.0, 800.0)
COST_RATIOS = (0.01, 0.05, 0.1)
BURN_IN = 200
SMALL = (30.0, 60.0, 120.0)
METHODS = ("base", "paper-random", "paper-active", "auto")
FEATURES = {  # other raters, their disagreement, lengths and groups; never what reveals the strong rating
    "alpaca_human_judges": ["g_gpt35", "g_gpt4turbo", "len_1", "len_2"],
    "cdi_politeness": ["g_prob", "conf", *(f"x{k}" for k in range(1, 22))],
    "chatbot_arena_33k": ["g_gpt4", "g_claude3opus", "g_gpt35", "u_judge_disagreement", "model_a", "model_b"],
    "evouna_qa": ["g_lexical", "g_f1", "g_recall", "g_trigram", "source", "system"],
    "imagenet_resnet50": ["vit_prob", "vit_agrees", "dino_prob", "dino_agrees", "simclr_prob", "simclr_agrees"],
    "ppi_alphafold": ["phosphorylated", "ubiquitinated", "acetylated"],
    "summeval_llm": [
        "u", "g_gpt35_rts", "g_gpt35_mcq", "g_gpt35_star", "g_gpt35_altrts", "g_gpt4_rts", "g_llama2_7b",
        "g_llama2_13b", "g_llama2_70b", "g_turkers", "turk_sd", "dim", "system",
    ],
    "trec_dl_relevance": [
        "g_flan_t5_large", "g_llama3_8b_direct", "g_llama33_70b", "sum4_flan_t5_large", "sum4_llama3_8b",
        "sum4_llama33_70b", "year", "qid",
    ],
}  # fmt: skip


def cells(name: str, given: argparse.Namespace, mode: str, cost_ratio: float) -> list[dict[str, float | str]]:
    table = rw.read_table(DATA / f"{name}.parquet")
    budgets = [B for B in BUDGETS if mode == "stream" or table.rows > BURN_IN + B]
    u = None
    if given.uncertainty:
        g = table.numbers("g")
        g = (g - g.min()) / (g.max() - g.min())
        u = {
            "random": np.random.default_rng(3).random(g.size),
            "reverse": 0.25 - g * (1 - g),
            "constant": np.ones(g.size),
        }[given.uncertainty]
        table = table.with_columns({"u_given": u})
    features = FEATURES.get(name, []) if given.features else []
    found = rw.simulate(
        table, weak="g", strong="h", cost_ratio=cost_ratio, budgets=budgets, methods=METHODS, mode=mode,
        trials=given.trials, features=features, uncertainty=None if u is None else "u_given", seed=given.seed,
    )  # fmt: skip
    rows = []
    for B in budgets:
        of = {r.method: r for r in found.results if r.budget == B}
        a = of["auto"]
        sd = a.bias_se * a.trials**0.5
        rows.append(
            {
                "mode": mode, "cost": cost_ratio, "table": name, "budget": B, "base": of["base"].of_base,
                "random": of["paper-random"].of_base, "active": of["paper-active"].of_base, "auto": a.of_base,
                "se": (a.mse_high - a.mse_low) / 3.92 / a.base_mse, "bias": a.bias / sd if sd > 0 else 0.0,
                "coverage": a.coverage, "spent": a.spend_mean / B,
            }
        )  # fmt: skip
    return rows


def from_nothing(names: list[str], given: argparse.Namespace) -> str:
    """MSE over that of base on the same draws with its standard error, coverage and bias, for small total budgets."""
    lines = [f"| table, {given.modes}, cost {given.costs} | " + " | ".join(f"{B:g}" for B in SMALL) + " |",
             "|---" * (1 + len(SMALL)) + "|"]  # fmt: skip
    for name in names:
        table = rw.read_table(DATA / f"{name}.parquet")
        found = rw.simulate(
            table, weak="g", strong="h", cost_ratio=float(given.costs), budgets=list(SMALL), methods=("base", "auto"),
            mode=given.modes, trials=given.trials, burn_in=0, seed=given.seed,
        )  # fmt: skip
        told = []
        for B in SMALL:
            of = {r.method: r for r in found.results if r.budget == B}
            a, base = of["auto"], of["base"]
            se = ((a.mse_high - a.mse_low) / a.mse) / 3.92 * 2**0.5  # both are noisy; the draws they share only help
            sd = a.bias_se * a.trials**0.5
            told.append(
                f"{a.mse / base.mse:.3f} ± {2 * se * a.mse / base.mse:.3f} ({a.coverage:.1%}, {a.bias / sd:+.2f})"
            )
        lines.append(f"| {name} | " + " | ".join(told) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def summary(rows: list[dict[str, float | str]]) -> str:
    def mean(values: list[float]) -> float:
        return float(np.exp(np.mean(np.log(values))))

    lines = ["| cells | paper-active / auto | better of the two / auto | base / auto |", "|---|---|---|---|"]
    groups = [("all", rows)] + [(f"{key} {v}", [r for r in rows if r[key] == v]) for key in ("mode", "cost", "budget")
                                for v in dict.fromkeys(r[key] for r in rows)]  # fmt: skip
    for name, some in groups:
        lines.append(
            f"| {name} ({len(some)}) | {mean([r['active'] / r['auto'] for r in some]):.3f} | "
            f"{mean([min(r['active'], r['random']) / r['auto'] for r in some]):.3f} | "
            f"{mean([1 / r['auto'] for r in some]):.3f} |"
        )
    over = max(rows, key=lambda r: r["auto"] - 2 * r["se"])
    bias = max(rows, key=lambda r: abs(r["bias"]))
    low, high = (pick(rows, key=lambda r: r["coverage"]) for pick in (min, max))

    def where(r: dict[str, float | str]) -> str:
        return f"{r['table']}, {r['mode']}, cost {r['cost']}, budget {r['budget']:g}"

    lines += [
        "",
        f"- Worst against base: {over['auto']:.3f} ± {2 * over['se']:.3f} ({where(over)}).",
        f"- Largest |bias|: {bias['bias']:+.3f} sd ({where(bias)}); noise ± {2 * TRIALS[0] ** -0.5:.3f}.",
        f"- Coverage from {low['coverage']:.1%} ({where(low)}) to {high['coverage']:.1%} ({where(high)}), "
        f"mean {np.mean([r['coverage'] for r in rows]):.1%}; noise ± {1.96 * (0.0475 / TRIALS[0]) ** 0.5:.1%}.",
        f"- Share of the budget spent: at least {min(r['spent'] for r in rows):.1%}.",
    ]
    return "\n".join(lines)


TRIALS = [0]


def page(rows: list[dict[str, float | str]]) -> str:
    parts = ["| mode | cost | table | budget | paper-random | paper-active | auto | coverage | bias/sd |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    parts += [
        f"| {r['mode']} | {r['cost']} | {r['table']} | {r['budget']:g} | {r['random']:.3f} | {r['active']:.3f} | "
        f"**{r['auto']:.3f}** | {r['coverage']:.1%} | {r['bias']:+.2f} |"
        for r in rows
    ]
    return summary(rows) + "\n\n" + "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--features", action="store_true")
    parser.add_argument("--uncertainty", choices=["random", "reverse", "constant"])
    parser.add_argument("--from-nothing", action="store_true")
    parser.add_argument("--modes", default="stream,pool")
    parser.add_argument("--costs", default=",".join(map(str, COST_RATIOS)))
    parser.add_argument("--tables", default=None)
    parser.add_argument("--write", type=pathlib.Path)
    given = parser.parse_args()
    names = given.tables.split(",") if given.tables else [path.stem for path in sorted(DATA.glob("*.parquet"))]
    if not names:
        print(f"no tables in {DATA.name}; name their folder in RATEWISE_DATA", file=sys.stderr)
        return
    if given.from_nothing:
        print(from_nothing(names, given))
        return
    TRIALS[0] = given.trials
    rows = []
    start = time.perf_counter()
    for mode in given.modes.split(","):
        for cost in map(float, given.costs.split(",")):
            for name in names:
                rows += cells(name, given, mode, cost)
                done = [r for r in rows if r["table"] == name and r["cost"] == cost and r["mode"] == mode]
                told = " ".join(
                    f"{r['budget']:g}: {r['auto']:.3f} ({r['coverage']:.1%} {r['bias']:+.2f})" for r in done
                )
                print(f"{time.perf_counter() - start:5.0f}s {mode} {cost} {name} {told}", file=sys.stderr, flush=True)
    text = page(rows)
    if given.write is None:
        print(text)
    else:
        given.write.write_text(text, encoding="utf-8")
        print(summary(rows))


if __name__ == "__main__":
    main()
