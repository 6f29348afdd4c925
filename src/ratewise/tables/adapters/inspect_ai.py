"""inspect_ai's logs, schema 2: `.eval`, a zip archive, and the same as one JSON document. A row per sample and epoch.

    header.json                             version, status, eval {task, model, dataset, …}
    _journal/start.json                     the same of a run that did not end
    samples/{id}_epoch_{n}.json             id, epoch, input, target, output, scores {name: {value, answer, …}}
    samples/{id}_epoch_{n}/sample.json      the same of a sample in chunks, with attachments/{start}.json and
                                            metadata.json beside it

A long text may stand elsewhere: attachment://… is its hash, or its number in chunks. The epochs of a sample are one
cluster. A value of NaN is a sample that was not scored. A sample's metadata are columns: metadata.topic.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Row, TableBuilder, at, mapping, number, shown, there
from ratewise.tables.adapters.source import Archive, Source

VERSION = 2
_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/(?P<key>.+_epoch_\d+)(\.json|/sample\.json)")
_ELSEWHERE = "attachment://"
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_COLUMNS = (
    Became("id", "id", "id, and epoch where there are several"),
    Became("sample_id", "cluster", "id: the epochs of a sample belong together", lambda sample: str(sample["id"])),
    Became("epoch", "epoch", "epoch"),
    Became("prompt", "prompt", "input"),
    Became("choices", "more", "choices"),
    Became("answer", "answer", "output.completion"),
    Became("target", "target", "target", lambda sample: _alone(sample.get("target"))),
    Became("system", "system", "eval.model"),
)
_LAST = (Became("error", "more", "error.message"),)

_Attached = Callable[[str], Any]
_Sample = tuple[dict[str, Any], _Attached]


def looks(source: Source) -> bool:
    """Whether it is a log: an archive with a header and samples, or a document with version, eval and status."""
    if source.is_zip:
        return source.ending == ".eval" or any(name.encode() in source.head for name in _HEADERS)
    first = source.first
    return isinstance(first, dict) and {"version", "eval", "status"} <= first.keys() and isinstance(first["eval"], dict)


def read(source: Source) -> Imported:
    """One row per sample and epoch, in the order of the dataset."""
    if source.is_zip:
        with Archive(source.path, source.name) as archive:
            header = _header(archive, source.name)
            return _table(source, header, _samples_in(archive, source.name))
    document = source.first
    if not isinstance(document, dict) or not isinstance(document.get("eval"), dict):
        raise TableError(f"{source.name} is no log of inspect_ai; give its .eval or .json file")
    _refuse_version(document, source.name)
    samples = document.get("samples")
    return _table(source, document, _samples_of(samples if isinstance(samples, list) else [], source.name))


def _header(archive: Archive, name: str) -> dict[str, Any]:
    member = next((each for each in _HEADERS if each in archive.names), None)
    header = None if member is None else archive.json(member)
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        found = ", ".join(sorted(archive.names)[:3]) or "nothing"
        raise TableError(f"{name} is a zip archive without header.json of inspect_ai; it holds {found}")
    _refuse_version(header, name)
    return header


def _refuse_version(header: dict[str, Any], name: str) -> None:
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise TableError(
            f"{name} is a log of schema {version!r}; schemas up to {VERSION} can be read:"
            " write it by an older inspect_ai, or take a newer ratewise"
        )


def _samples_of(samples: list[Any], name: str) -> Iterator[_Sample]:
    for row, sample in enumerate(samples, start=1):
        if not isinstance(sample, dict):
            raise TableError(f"sample {row} of {name} is no object; the log is damaged")
        yield sample, _by_hash(sample)


def _samples_in(archive: Archive, name: str) -> Iterator[_Sample]:
    """The samples, one in memory at a time."""
    for member in archive.names:
        match = _SAMPLE.fullmatch(member)
        if match is None:
            continue
        sample = archive.json(member)
        if not isinstance(sample, dict):
            raise TableError(f"{member} in {name} is no sample; the log is damaged")
        chunked, beside = member.endswith("/sample.json"), f"samples/{match['key']}/metadata.json"
        if chunked and beside in archive.names:
            sample = {"metadata": archive.json(beside)} | sample
        yield sample, _by_number(archive, f"samples/{match['key']}/attachments/") if chunked else _by_hash(sample)


def _by_hash(sample: dict[str, Any]) -> _Attached:
    attachments = sample.get("attachments")
    return attachments.get if isinstance(attachments, dict) else lambda _: None


def _by_number(archive: Archive, prefix: str) -> _Attached:
    """Attachments in chunks, which are named by the number of their first."""
    starts = sorted(
        int(name.removeprefix(prefix).removesuffix(".json"))
        for name in archive.names
        if re.fullmatch(re.escape(prefix) + r"\d+\.json", name)
    )

    def find(number: str) -> Any:
        if not number.isdecimal() or not starts:
            return None
        start = max((start for start in starts if start <= int(number)), default=starts[0])
        chunk = archive.json(f"{prefix}{start}.json")
        at = int(number) - start
        return chunk[at] if isinstance(chunk, list) and 0 <= at < len(chunk) else None

    return find


def _table(source: Source, header: dict[str, Any], samples: Iterator[_Sample]) -> Imported:
    made = TableBuilder(source, f"inspect_ai log, schema {header['version']}", _COLUMNS, _LAST)
    for sample, attached in samples:
        if "id" not in sample or "epoch" not in sample:
            raise TableError(f"a sample of {source.name} has no id and epoch; the log is damaged")
        row = made.row(sample, len(made.rows))
        row |= {"prompt": _said(sample.get("input"), attached), "answer": _completion(sample.get("output"), attached)}
        row["system"] = header["eval"].get("model")
        made.inside(row, "metadata", sample.get("metadata"), "input")
        for name, score in mapping(sample.get("scores")).items():  # each part of a value that has several
            value = at(score, "value")
            parts = {f"{name}/{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
            for part, one in parts.items():
                where = f"scores.{part.replace('/', '.value.', 1)}"
                made.score(row, part, shown(one) if isinstance(one, list | dict) else one, where)
    rows = _in_order(list(made.rows.values()), header)
    made.rows = dict(enumerate(rows))
    several = len({row["epoch"] for row in rows}) > 1
    for row in rows:
        row["id"] = f"{row['sample_id']}/{row['epoch']}" if several else row["sample_id"]
    made.scores = {name: _numbered(each, rows) for name, each in made.scores.items()}
    made.notes += _notes(header, rows, list(made.scores))
    return made.imported()


def _alone(target: Any) -> Any:
    return target[0] if isinstance(target, list) and len(target) == 1 else target


def _completion(output: Any, attached: _Attached) -> str | None:
    completion, choices = at(output, "completion"), at(output, "choices")
    content = at(choices[0], "message.content") if isinstance(choices, list) and choices else None
    return _whole(completion, attached) if completion else _content(content, attached)


def _said(value: Any, attached: _Attached) -> str | None:
    """The input: a text, one message, or messages one below the other."""
    if not isinstance(value, list):
        return None if value is None else _whole(str(value), attached)
    messages = [each for each in value if isinstance(each, dict)]
    texts = [_content(each.get("content"), attached) or "" for each in messages]
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"{each.get('role')}: {text}" for each, text in zip(messages, texts, strict=True))


def _content(content: Any, attached: _Attached) -> str | None:
    """The text of a message; what is no text is named by its kind."""
    if isinstance(content, list):
        parts = [each for each in content if isinstance(each, dict)]
        return "\n".join(
            _whole(str(each["text"]), attached)
            if each.get("type") == "text" and "text" in each
            else f"[{each.get('type')}]"
            for each in parts
            if each.get("type") != "reasoning"
        )
    return None if content is None else _whole(str(content), attached)


def _whole(text: str, attached: _Attached) -> str:
    found = attached(text.removeprefix(_ELSEWHERE)) if text.startswith(_ELSEWHERE) else None
    return found if isinstance(found, str) else text


def _numbered(told: Became, rows: list[Row]) -> Became:
    """Turn a scorer's letters and words into numbers, as inspect_ai does, where all of them have one."""
    values = [row.get(told.column) for row in rows]
    numbers = [_number(value) for value in values]
    if None in numbers:
        return Became(told.column, told.role, f"{told.source}: words, see --positive and --scale")
    for row, found in zip(rows, numbers, strict=True):
        row[told.column] = found
    letters = any(value in _LETTERS for value in values if isinstance(value, str))
    return Became(told.column, told.role, told.source + (": C is 1, P 0.5, I and N 0" if letters else ""))


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return _LETTERS.get(value, _WORDS.get(value.lower(), number(value)))
    return number(value)


def _in_order(rows: list[Row], header: dict[str, Any]) -> list[Row]:
    ids = at(header, "eval.dataset.sample_ids")
    order = {str(each): place for place, each in enumerate(ids if isinstance(ids, list) else [])}
    return sorted(
        rows, key=lambda row: (order.get(row["sample_id"], len(order)), row["sample_id"], str(row["epoch"]).zfill(9))
    )


def _notes(header: dict[str, Any], rows: list[Row], scores: list[str]) -> list[str]:
    notes = []
    if header.get("status") != "success":
        notes.append(f"the run's status is {header.get('status', 'started')!r}: samples may be missing")
    for name in scores:
        gone = sum(not there(row.get(name)) for row in rows)
        if 0 < gone < len(rows):
            notes.append(f"{name} has no value for {gone} of {len(rows)} rows, which were not scored")
    return notes
