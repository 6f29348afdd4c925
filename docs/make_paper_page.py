# ruff: noqa: E501
"""Write docs/paper.md: the paper in its order, with the verdicts of docs/paper.json, which `reproduce` wrote.

    ratewise reproduce -o figures && cp figures/claims.json docs/paper.json && python docs/make_paper_page.py

A test compares the page with what this makes of the file, and the sentences in the file with those of the package.
"""

import json
import pathlib
import sys
from typing import Any

PAGE = pathlib.Path(__file__).with_name("paper.md")
KEPT = PAGE.with_suffix(".json")

INTRODUCTION = """# The paper, sentence by sentence

*Cost-Optimal Active AI Model Evaluation* (Angelopoulos, Eisenstein, Berant, Agarwal, Fisch, 2025), in its order: where each
definition, proposition, algorithm, experiment and limitation is here, and whether what the paper says holds. Where a
sentence is false as printed, the next one has it *as corrected*.

Verdicts on real data go by 95 % bootstrap intervals over {trials:,} trials (seed {seed}, cost ratio 0.05, which the paper does
not tell): ✓ holds, ✗ fails, ? the trials cannot tell. `random` and `active` are the paper's policies as it estimates them,
`paper-random` and `paper-active` of [simulate](guides/simulate.md), not ratewise's own `auto`. All but ImageNet's are
[stand-ins](#the-data), so that ✗ says that a sentence is no law, not that the paper's figure is wrong.

Made from what `ratewise reproduce` wrote ([how to run it](guides/reproduce.md)); what the symbols mean is in the
[statistics](statistics.md).
"""

WORDS = {"holds": "✓ holds", "fails": "✗ fails", "cannot tell": "? cannot tell"}

# What is no sentence with a verdict: what it is, where it is here, what is to be known of it.
Row = tuple[str, str, str]

SECTIONS: tuple[tuple[str, tuple[Row, ...], tuple[str, ...]], ...] = (
    (
        "2 Policies",
        (
            ("Δ and its mean, unbiased for E[H]", "`core/estimate.py`", "`difference`; tests/statistical/test_unbiased.py"),
            ("Error_T(π) and Cost_T(π)", "`core/formulas.py`", "`error_times_budget`; tests/core/test_formulas.py"),
            ("T is no whole number", "`core/formulas.py`", "whole items too, see Prop. 3"),
            ("π and g stay as they are", "`design/rounds.py`", "`auto` learns both in rounds"),
        ),
        ("Prop. 1", "Prop. 2", "Prop. 2, remark"),
    ),
    (
        "3 Made-up worlds",
        (
            ("ErrorRatio", "`core/formulas.py`", "`error_ratio`; base pays no c_g"),
            ("Gaussian and Bernoulli data", "`lab/figures.py`", "exact integrals; sampled too in `lab/worlds.py`"),
        ),
        ("Sec. 3.2", "Sec. 3.3", "Sec. 3, takeaways"),
    ),
    (
        "4 Real data",
        (
            ("A1, transfer, with Platt scaling", "`lab/methods.py`", "for your own pools: `questions/transfer.py`"),
            ("A2, 200 labels first, combined by inverse variance", "`lab/methods.py`", "`auto` pools the phases instead"),
            ("Oracle, u = (h − g)²", "`lab/methods.py`", "and `limit`, what could be learned at best"),
            ("MSE, effective budget, cost savings at an MSE", "`lab/results.py`", "`simulate --at-rmse` for a share of base's budget"),
            ("Chatbot Arena, easy/hard split, AQA", "`lab/datasets.py`", "your copies, or stand-ins"),
            ("Items are drawn with replacement, as many as it takes", "`lab/trials.py`", "a pool that ends: `--mode pool`"),
        ),
        ("Fig. 3", "Fig. 4", "Sec. 4.3"),
    ),
    ("5 Conclusion", (), ("Sec. 5",)),
    (
        "Appendix B: theory",
        (
            ("Power tuning λ̂", "`core/estimate.py`", "`power-tuned`; it depends on where the scale begins, `regression` does not"),
            ("Prop. 4, M-estimators are normal", "`core/m_estimation.py`", "tests/statistical/test_m_estimators.py"),
            ("Prop. 5, their policy, unclipped", "`core/m_estimation.py`", "clipped here; tests/core/test_m_policy.py"),
            ("Corollary of Prop. 6", "`core/formulas.py`", "to first order; tests/core/test_wrong_policy.py"),
        ),
        ("App. B.1", "Prop. 3", "Prop. 6", "App. B.5", "Prop. 7", "App. B.7"),
    ),
    ("Appendix D: more results", (), ("App. D.1", "App. D.2")),
    (
        "Appendix E: the judge",
        (
            ("Five verdicts in each order, the majority is H", "`judges/verdicts.py`", "`samples = 5`; [the guide](guides/judge.md)"),
            ("The prompt and its criteria", "`judges/templates/pairwise.txt`", "in our words; it may say tie, the paper's may not"),
            ("G: Gemma-3 4B fine-tuned on H, stopped early", "`learn/trainer.py`", "`train --kind causal`; no such model was at hand here"),
        ),
        (),
    ),
    (
        "Limitations that the paper names",
        (
            ("Pools that end are left to future work", "`core/policy.py`", "`pool_size`; checked by brute force in tests/core/test_policy.py"),
            ("Clipping for M-estimators is left to future work", "`core/m_estimation.py`", "done"),
            ("Choosing inputs was not tried", "`core/allocation.py`", "[a guide](guides/inputs.md), with the rates chosen jointly"),
            ("The integer solution was not implemented", "`core/formulas.py`", "done, with its error mended"),
            ("Parameters must be estimated; cold start", "`design/rounds.py`", "[auto](auto.md) against the paper's methods"),
            ("u(x) may be far from right", "`learn/error_model.py`", "learned from labels; what it costs: [a page](wrong-policy.md)"),
        ),
        (),
    ),
)  # fmt: skip


def page(kept: dict[str, Any]) -> str:
    """The page's text."""
    made = [figure["name"] for figure in kept["figures"] if figure["missing"] is None]
    parts = [INTRODUCTION.format(**kept), _count(kept["claims"])]
    for title, rows, places in SECTIONS:
        parts.append(f"## {title}\n")
        if rows:
            told = [f"| {what} | {where} | {more} |" for what, where, more in rows]
            parts.append("\n".join(["| what | where it is here | what to know |", "|---|---|---|", *told]) + "\n")
        claims = [c for place in places for c in kept["claims"] if c["where"] == place]
        if claims:
            parts.append(
                "\n".join(["| in the paper | it says | here | verdict |", "|---|---|---|---|", *map(_row, claims)])
                + "\n"
            )
    parts.append("## The data\n")
    parts += [
        f"- **{figure['name']}**: " + f"{figure['source']} {figure['differs']}".strip() for figure in kept["figures"]
        if figure["name"] in made
    ]  # fmt: skip
    parts.append(
        "- **arena-like**, a rater trained on other systems' labels and tried on one it has not seen, takes a GPU or some"
        " hours; its verdicts come with `ratewise reproduce arena-like -o figures`."
    )
    return "\n".join(parts) + "\n"


def _row(claim: dict[str, Any]) -> str:
    corrected = "*as corrected*: " if claim["corrected"] else ""
    cells = claim["where"], f"{corrected}{claim['text']}", claim["evidence"], WORDS[claim["verdict"]]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _count(claims: list[dict[str, Any]]) -> str:
    printed = [c["verdict"] for c in claims if not c["corrected"]]
    told = ", ".join(f"{printed.count(word)} {said}" for word, said in (("holds", "hold"), ("fails", "fail")))
    return f"Of {len(printed)} sentences as printed, {told}, and of {printed.count('cannot tell')} it cannot be told.\n"


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(KEPT.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"wrote {PAGE.name}", file=sys.stderr)
