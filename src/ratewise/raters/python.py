"""A Python function as a rater, given by its import path."""

import asyncio
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator

from ratewise.errors import InputError
from ratewise.raters.keys import STILL_THE_SAME, hint, key
from ratewise.raters.kind import RaterPlace, RaterSpec, module_file
from ratewise.raters.protocol import Answer, Failure, Question, Rater, failure_from
from ratewise.raters.text import safe_reason, secrets_of

_T = TypeVar("_T")


def _import_path(value: str) -> str:
    module, _, attribute = value.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise hint("a module, a colon, and a function in it")
    return value


class PythonSettings(RaterSpec):
    """Kind "python"."""

    function: Annotated[str, AfterValidator(_import_path)] = key(
        ..., "a function in my_raters.py that takes an item and returns its rating",
        must_be='text such as "my_raters:judge"', example='"my_raters:judge"', note=STILL_THE_SAME,
    )  # fmt: skip

    def make(self, place: RaterPlace) -> Rater:
        return PythonRater(self.function, folder=place.folder)

    def sources(self, folder: str) -> tuple[str, ...]:
        return module_file(self.function, folder)


class PythonRater:
    """Calls a function per item: `function(item)`, or `function(item, key=key)` where it has a parameter `key`."""

    def __init__(self, path: str, *, folder: str) -> None:
        self._function = _load(path, folder)
        self._takes_key = _takes_key(self._function)
        _check_takes_item(self._function, path, key=self._takes_key)
        call = getattr(self._function, "__call__", None)  # noqa: B004 - of an object that has an async one
        self._is_async = inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(call)

    async def rate(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """All answers at once from an async function; otherwise one after the other, in a thread of this call."""
        if self._is_async:
            return await asyncio.gather(*(self._rate_async(question) for question in questions))
        given_up = threading.Event()
        try:
            return await _in_thread(lambda: self._rate_in_turn(questions, given_up))
        finally:
            given_up.set()  # a thread cannot be killed, but after a timeout nobody should pay for the rest

    async def close(self) -> None:
        """Close the rater; it holds nothing open. A function that hangs keeps its thread until the process ends."""

    async def _rate_async(self, question: Question) -> Answer | Failure:
        try:
            return _reply(await self._call(question))
        except (Exception, SystemExit) as error:  # SystemExit would stop the event loop
            return _failure(error, question)

    def _rate_in_turn(self, questions: Sequence[Question], given_up: threading.Event) -> list[Answer | Failure]:
        replies: list[Answer | Failure] = []
        for question in questions:
            if given_up.is_set():
                break
            try:
                replies.append(_reply(self._call(question)))
            except BaseException as error:  # whatever it is, the thread must bring an answer back
                replies.append(_failure(error, question))
        return replies

    def _call(self, question: Question) -> Any:
        item = dict(question.item)  # the function may change its row, but only its own
        return self._function(item, key=question.key) if self._takes_key else self._function(item)


def _failure(error: BaseException, question: Question) -> Failure:
    """What the error stands for; a column's name with a slip in it is told."""
    failure = failure_from(error)
    key = error.args[0] if isinstance(error, KeyError) and error.args else None
    close = get_close_matches(key, question.item, n=1) if isinstance(key, str) and key not in question.item else []
    return replace(failure, reason=f"{failure.reason}; did you mean {close[0]!r}?") if close else failure


def _reply(value: object) -> Answer | Failure:
    if isinstance(value, Answer | Failure):
        return value
    if inspect.iscoroutine(value):
        value.close()
        return Failure("the function gave a coroutine; define it with async def")
    return Answer(value, note="the function gave None" if value is None else "")


async def _in_thread(work: Callable[[], _T]) -> _T:
    """The result of `work`, which may not raise, from a daemon thread.

    A ThreadPoolExecutor joins its threads when the process ends, so one function that hangs would keep it for ever.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def deliver(result: _T) -> None:
        if not future.done():
            future.set_result(result)

    def run() -> None:
        result = work()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, result)

    threading.Thread(target=run, name="ratewise-rater", daemon=True).start()
    return await future


def _load(path: str, folder: str) -> Callable[..., Any]:
    """The function at "package.module:function"."""
    name, _, attribute = path.partition(":")
    module = _import(name, folder)
    try:
        function = attrgetter(attribute)(module)
    except AttributeError:
        raise InputError(f"the module {name} ({module.__file__}) has no function {attribute}") from None
    if not callable(function):
        raise InputError(f"{path} is a {type(function).__name__}, not a function")
    return function  # type: ignore[no-any-return]


def _import(name: str, folder: str) -> ModuleType:
    """The module, sought in `folder` first.

    Afterwards the folder stays on the path, because the function may import its neighbours only when it is called,
    but at the end of it, so that a file called json.py beside the function is not taken for Python's own.
    """
    place = str(Path(folder).resolve())
    importlib.invalidate_caches()  # the file may have been written a moment ago
    sys.path.insert(0, place)
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        reason = safe_reason(failure_from(error).reason, secrets_of({}))
        raise InputError(f"cannot import {name} from {place}: {reason}") from None
    finally:
        with suppress(ValueError):  # the module may have changed the path itself
            sys.path.remove(place)
        if place not in sys.path:
            sys.path.append(place)
    # Of a second module of the same name in another folder, Python would silently use the first.
    stem = Path(place, *name.split("."))
    meant = next((file for file in (stem / "__init__.py", Path(f"{stem}.py")) if file.exists()), None)
    if meant and not (module.__file__ and meant.samefile(module.__file__)):
        raise InputError(f"another module {module.__name__} is already loaded from {module.__file__}; rename {meant}")
    return module


def _takes_key(function: Callable[..., Any]) -> bool:
    try:
        _, *others = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # no parameters at all, or a function of C that does not tell them
        return False
    return any(p.name == "key" and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in others)


def _check_takes_item(function: Callable[..., Any], path: str, *, key: bool) -> None:
    """Refuse a function that cannot be called with an item, before anyone is asked."""
    try:
        inspect.signature(function).bind({}, **({"key": ""} if key else {}))
    except TypeError as error:
        raise InputError(
            f"{path} cannot be called with one item ({error}); let it take the item as its only argument"
        ) from None
    except ValueError:  # a function of C that does not tell its parameters
        return
