"""One question to a judge as an HTTP call: the body of the request, and the ballot in the reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ratewise.judges.ladder import Rung
from ratewise.judges.logprobs import chances_of
from ratewise.judges.parsing import Said, read_answer
from ratewise.judges.prompt import Asked, Prompt, answer_schema
from ratewise.judges.scale import Chances, Verdicts, certain, from_confidence, likeliest

CHAT, DECISIONS = "chat/completions", "decisions"
_TOP = 20  # log-probabilities that are asked for at each place
_MOST_LEVELS = 255


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one call said: the verdict, and the chances of all verdicts where the source tells them."""

    vote: float
    chances: Chances
    told: bool  # whether the chances come from the source, or are the bare vote
    answer: str = field(default="", compare=False)  # the whole answer, without the code of its call


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """A reply without a verdict: why, and whether asking for the verdict alone may help."""

    reason: str
    answer: str = ""
    repairable: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What stays the same in all requests of a judge."""

    model: str
    verdicts: Verdicts
    criterion: str
    reasons: bool
    max_tokens: int
    temperature: float | None

    def asked(self, rung: Rung) -> Asked:
        """How answers are to look on this rung."""
        if rung.source == "decisions":
            return Asked("decision")
        return Asked("line" if rung.form == "line" else "json", confidence=rung.source == "verbal")

    def body(self, prompt: Prompt, rung: Rung) -> dict[str, Any]:
        """The request as JSON."""
        messages = list(prompt.messages)
        if rung.source == "decisions":
            return {"model": self.model, "input": messages, "questions": [self._question()]}
        limit = "max_tokens" if "max_tokens" in rung.takes else "max_completion_tokens"
        out: dict[str, Any] = {"model": self.model, "messages": messages, limit: self.max_tokens}
        if self.temperature is not None and "temperature" in rung.takes:
            out["temperature"] = self.temperature
        if rung.source == "logprobs":
            out |= {"logprobs": True, "top_logprobs": _TOP}
        if prompt.asked.form == "json":
            schema = answer_schema(self.verdicts, prompt.asked, reasons=self.reasons)
            named = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
            plain = {"type": "json_object", "schema": schema}
            out["response_format"] = named if rung.form == "structured" else plain
        return out

    @property
    def can_decide(self) -> bool:
        """Whether the decisions endpoint has a question for this scale."""
        whole = float(self.verdicts.low).is_integer() and float(self.verdicts.high).is_integer()
        return bool(self.verdicts.words) or (whole and self.verdicts.high - self.verdicts.low < _MOST_LEVELS)

    def _question(self) -> dict[str, Any]:
        kind, words = self.verdicts.kind, self.verdicts.words
        if kind == "binary":
            return {"type": "predicate", "name": "verdict", "instructions": f"The content meets this: {self.criterion}"}
        if kind == "pairwise":
            choices = [{"value": word} for word in words]
            instructions = f"Which of the two answers is better? What to compare: {self.criterion}"
            return {"type": "choice", "name": "verdict", "instructions": instructions, "choices": choices}
        levels = words or [str(n) for n in range(int(self.verdicts.low), int(self.verdicts.high) + 1)]
        rated = f"Rate the content from {levels[0]} (worst) to {levels[-1]} (best): {self.criterion}"
        return {"type": "score", "name": "verdict", "instructions": rated, "levels": [{"label": n} for n in levels]}


def read_reply(data: Mapping[str, Any], prompt: Prompt, rung: Rung, verdicts: Verdicts) -> Ballot | NoVerdict | None:
    """The ballot in a reply; None where the reply is not what the protocol says."""
    if rung.source == "decisions":
        return _decision(data, verdicts)
    choice = _only(data.get("choices"))
    message = None if choice is None else choice.get("message")
    if choice is None or not isinstance(message, Mapping):
        return None
    answer, refusal = message.get("content"), message.get("refusal")
    if (isinstance(refusal, str) and refusal) or choice.get("finish_reason") == "content_filter":
        return NoVerdict("the judge refused to answer")
    if not isinstance(answer, str):
        return NoVerdict("the judge gave no text", repairable=True)
    said = read_answer(answer, prompt, verdicts)
    if said is None:
        cut = " (it was cut at max_tokens)" if choice.get("finish_reason") == "length" else ""
        return NoVerdict(f"the answer holds no verdict{cut}", answer, repairable=True)
    ballot = _ballot(answer, said, choice, rung, verdicts)
    return replace(ballot, answer=answer.replace(prompt.code, ""))


def has_logprobs(data: Mapping[str, Any]) -> bool:
    """Whether a reply has log-probabilities at all."""
    choice = _only(data.get("choices"))
    return choice is not None and bool(_token_list(choice))


def _ballot(answer: str, said: Said, choice: Mapping[str, Any], rung: Rung, verdicts: Verdicts) -> Ballot:
    chances: Chances | None = None
    if rung.source == "logprobs":
        chances = chances_of(_token_list(choice), answer, said, verdicts)
    elif rung.source == "verbal" and said.confidence is not None and verdicts.words:
        chances = from_confidence(verdicts, said.value, said.confidence)
    return Ballot(said.value, certain(said.value) if chances is None else chances, chances is not None)


def _token_list(choice: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return [row for row in content if isinstance(row, Mapping)] if isinstance(content, list) else []


def _decision(data: Mapping[str, Any], verdicts: Verdicts) -> Ballot | NoVerdict | None:
    answer = _only(data.get("answers"))
    if answer is None:
        return None
    if answer.get("type") == "refusal":
        return NoVerdict("the judge refused to answer")
    if answer.get("type") == "predicate":
        p = _probability(answer.get("probability"))
        weights = {} if p is None else {1.0: p, 0.0: 1.0 - p}
    else:
        weights = _listed(answer, verdicts)
    total = sum(weights.values())
    if total <= 0:
        return None
    chances = {value: weight / total for value, weight in weights.items()}
    return Ballot(likeliest(chances), chances, told=True)


def _listed(answer: Mapping[str, Any], verdicts: Verdicts) -> dict[float, float]:
    """Probabilities of a choice or a score, by verdict."""
    out: dict[float, float] = {}
    rows = answer.get("probabilities")
    for row in rows if isinstance(rows, list) else []:
        word = row.get("label", row.get("value")) if isinstance(row, Mapping) else None
        value, p = verdicts.read(word), _probability(row.get("probability") if isinstance(row, Mapping) else None)
        if value is not None and p is not None:
            out[value] = out.get(value, 0.0) + p
    return out


def _probability(raw: object) -> float | None:
    is_one = isinstance(raw, int | float) and not isinstance(raw, bool) and 0 <= raw <= 1
    return float(raw) if is_one else None  # type: ignore[arg-type]


def _only(rows: object) -> Mapping[str, Any] | None:
    return rows[0] if isinstance(rows, list) and len(rows) == 1 and isinstance(rows[0], Mapping) else None
