"""An evaluation with inspect_ai: a support assistant's answers, and a judge that scores them from 0 to 1.

Run it where inspect_ai is installed: `python support.py`. It needs no network and no key: the model is a mock, and the
judge is a formula in the place of a model. The log that it wrote here is support.eval; inspect_ai 0.3.285 writes one
with the same rows.
"""

import random

from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import generate

THEMES = ("refund", "password", "delivery", "invoice")


@scorer(metrics=[mean(), stderr()])
def judge():
    """A judge that thinks well of most right answers."""

    async def score(state, target):
        rng = random.Random(f"judge {state.sample_id}")
        right = state.output.completion.startswith("Yes")
        return Score(value=round(rng.betavariate(6, 2) if right else rng.betavariate(2, 5), 3))

    return score


@task
def support():
    """120 cases, one answer each."""
    samples = [
        Sample(
            id=f"case-{number:03d}", input=f"Case {number}: can you help with my {THEMES[number % 4]}?", target="Yes"
        )
        for number in range(1, 121)
    ]
    return Task(dataset=samples, solver=generate(), scorer=judge())


def answer(messages, *_):
    """What the mock model says: right three times out of four."""
    text = messages[-1].text
    right = random.Random(f"model {text}").random() < 0.75
    return ModelOutput.from_content("mockllm/model", "Yes, here is how." if right else "I do not know.")


class Words:
    """Counts words for tokens: the real encoding would be fetched from the network."""

    def encode(self, text, **_):
        """One token per word."""
        return text.split()


if __name__ == "__main__":
    import tiktoken

    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_: Words()
    model = get_model("mockllm/model", custom_outputs=answer)
    eval(support(), model=model, log_dir="logs", log_model_api=False, display="none")
