"""A program as a rater: it reads questions as JSON lines and writes answers as JSON lines, in any order.

    standard input    {"key": "…", "id": "…", "item": {…}}
    standard output   {"key": "…", "rating": …, "price": "0.002", "note": "…"}    price and note may be left out
                      {"key": "…", "error": "…", "price": "0.002"}

It is started when it is first needed, keeps running, and gets one batch at a time. As soon as it breaks these rules,
or nobody waits for it any more, it is ended, so that a late answer can never be taken for another question's.
"""

import asyncio
import json
import os
import shlex
import shutil
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BeforeValidator

from ratewise.errors import InputError
from ratewise.raters.keys import STILL_THE_SAME, hint, key
from ratewise.raters.kind import RaterPlace, RaterSpec, batch
from ratewise.raters.protocol import Answer, Failure, Question, Rater, not_asked, question_line, read_object, read_reply
from ratewise.raters.text import one_line, short

_LONGEST_LINE = 1 << 20  # bytes
_KEPT_ERRORS = 2000  # characters of standard error
_SHORT = 2.0  # seconds a program has to end by itself


def _words(value: object) -> object:
    """Words, or text that a shell would split into words."""
    words: Sequence[Any] = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(word, str) for word in words):
        raise hint("every word must be text")
    if "\0" in "".join(words):
        raise hint("take the NUL sign out")
    try:
        words = shlex.split(value) if isinstance(value, str) else words
    except ValueError:
        raise hint("a quote in it is not closed") from None
    if not words or not words[0].strip():
        raise hint("there is no program to start")
    return value


class CommandSettings(RaterSpec):
    """Kind "command"."""

    batch: int = batch(16)
    command: Annotated[str | tuple[str, ...], BeforeValidator(_words)] = key(
        ..., "a program that reads and writes JSON lines",
        must_be='the words of a command, such as ["python", "judge.py"]', example='["python", "judge.py"]',
        note=STILL_THE_SAME,
    )  # fmt: skip

    def make(self, place: RaterPlace) -> Rater:
        return CommandRater(self.command, folder=place.folder, processes=self.concurrency)


class CommandRater:
    """Asks up to `processes` copies of a program; `folder` is where it runs. No shell is involved."""

    def __init__(self, command: Sequence[str] | str, *, folder: str, processes: int = 1) -> None:
        self._command = _found(shlex.split(command) if isinstance(command, str) else list(command), folder)
        self._folder = folder
        self._free = asyncio.Semaphore(processes)
        self._idle: list[_Program] = []
        self._running: set[_Program] = set()
        self._is_closed = False

    async def rate(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """The answers of one program; those it did not give before it ended or broke the rules are failures."""
        try:
            lines = {question.key: question_line(question) for question in questions}  # a key is asked once
        except (ValueError, TypeError, RecursionError) as error:
            return [not_asked(f"the question cannot be written as JSON: {error}")] * len(questions)
        async with self._free:
            try:
                program = await self._ready()
            except (OSError, ValueError) as error:
                return [not_asked(f"cannot start {self._command[0]}: {error}")] * len(questions)
            replies = await self._ask(program, lines)
        return [replies[question.key] for question in questions]

    async def close(self) -> None:
        """Close the programs' standard input, wait shortly, and kill what is left."""
        self._is_closed = True
        self._idle.clear()
        await asyncio.gather(*(self._end(program, patience=_SHORT) for program in list(self._running)))

    async def _ask(self, program: "_Program", lines: dict[str, bytes]) -> dict[str, Answer | Failure]:
        replies: dict[str, Answer | Failure] = {}
        fine = False
        try:
            await program.ask(lines, replies)
            fine = True
        except _BrokenError as broken:
            failure = Failure(one_line(str(broken)))
            replies = {key: replies.get(key, failure) for key in lines}
        finally:  # also when the caller is cancelled
            if fine and program in self._running:  # not closed meanwhile
                self._idle.append(program)
            else:
                await self._end(program)
        return replies

    async def _ready(self) -> "_Program":
        """A running program; one that ended while it had nothing to do is replaced."""
        while self._idle:
            program = self._idle.pop()
            if not program.over:
                return program
            await self._end(program)
        if not self._is_closed:
            program = await _start(self._command, self._folder)
            self._running.add(program)
            if not self._is_closed:  # it may have been meanwhile
                return program
            await self._end(program)
        raise OSError("the rater is closed")

    async def _end(self, program: "_Program", *, patience: float = 0.0) -> None:
        self._running.discard(program)
        await program.end(patience=patience)


class _BrokenError(Exception):
    """The program cannot be asked any further, and why."""


class _Program:
    """One running program: what it has written, and the last of its standard error."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self._errors = b""
        self._listening = asyncio.create_task(self._listen(process.stderr))  # ends when all pipes are closed
        self._before: dict[str, str] = {}  # what the batch before was answered

    @property
    def over(self) -> bool:
        return self._process.returncode is not None or self._out.at_eof()

    async def _listen(self, errors: asyncio.StreamReader) -> None:
        while data := await errors.read(_KEPT_ERRORS):
            self._errors = (self._errors + data)[-4 * _KEPT_ERRORS :]  # a character has at most four bytes

    async def ask(self, lines: dict[str, bytes], replies: dict[str, Answer | Failure]) -> None:
        """Send a batch and fill in `replies` as they come, until all have come or the program is broken."""
        said: dict[str, str] = {}
        self._in.write(b"".join(lines.values()))
        while len(replies) < len(lines):
            row = await self._next()
            key, text = row.get("key"), json.dumps(row, sort_keys=True)
            if not isinstance(key, str) or (key not in lines and key not in self._before):
                raise _BrokenError(f"the program answered an unknown key: {short(key)}")
            first = said.setdefault(key, text) if key in lines else self._before[key]
            if first != text:
                raise _BrokenError(f"the program gave a second, different answer for the key {short(key)}")
            if key in lines and key not in replies:
                replies[key] = _reply(row)
        self._before = said

    async def end(self, *, patience: float = 0.0) -> None:
        """End it and all it has started; with patience, let it end by itself first when its input is closed."""
        exit = asyncio.create_task(self._process.wait())
        try:
            if patience:
                self._in.close()
                await asyncio.wait({exit}, timeout=patience)
        finally:
            self._kill()
        try:
            # The exit is awaited before the transport is closed, which would otherwise collect the exit code
            # in competition with the event loop.
            await asyncio.wait({exit}, timeout=_SHORT)
        finally:
            exit.cancel()
            self._process._transport.close()  # type: ignore[attr-defined]  # what it started may hold the pipes
        await asyncio.wait({self._listening}, timeout=_SHORT)

    async def _next(self) -> dict[str, Any]:
        """The next line as an object; blank lines do no harm."""
        try:
            while not (line := await self._out.readuntil(b"\n")).strip():
                pass
        except asyncio.LimitOverrunError:
            raise _BrokenError(f"the program wrote a line longer than {_LONGEST_LINE:,} bytes") from None
        except asyncio.IncompleteReadError as error:
            line = error.partial
            if not line.strip():
                raise _BrokenError(await self._ending()) from None
        try:
            return read_object(line.removesuffix(b"\n"))
        except ValueError as error:
            raise _BrokenError(f"the program wrote a line that is {error}") from None

    async def _ending(self) -> str:
        """How the program ended, with the last line of its standard error if that was no success."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SHORT):
                await self._process.wait()
                await asyncio.shield(self._listening)
        code = self._process.returncode
        if code is None:
            return "the program closed its standard output"
        how = f"the program ended with code {code}" if code >= 0 else f"the program was ended by signal {-code}"
        last = self._errors.decode("utf-8", "replace")[-_KEPT_ERRORS:].strip().splitlines()[-1:]
        return f"{how}: {last[0]}" if code and last else f"{how} before it had answered"

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # all of them are gone; macOS says it the second way
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()


def _reply(row: dict[str, Any]) -> Answer | Failure:
    try:
        return read_reply(row)
    except ValueError as error:
        return Failure(f"the program's answer cannot be used: {error}")


async def _start(command: Sequence[str], folder: str) -> _Program:
    """A new process in a session of its own, so that it can be killed together with all it starts."""
    # Python programs hold their output back when it goes into a pipe; a forgotten flush would look like a hang.
    environment = {"PYTHONUNBUFFERED": "1", **os.environ}
    return _Program(
        await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=_LONGEST_LINE, cwd=folder, env=environment,
            start_new_session=True,
        )
    )  # fmt: skip


def _found(parts: list[str], folder: str) -> list[str]:
    """The command with the full path of its program: beside the campaign, or for a bare name on the PATH first."""
    if not os.path.isdir(folder):
        raise InputError(f"the folder {folder} does not exist")
    program, beside = parts[0], os.path.join(folder, parts[0])
    found = shutil.which(beside) if os.path.dirname(program) else shutil.which(program) or shutil.which(beside)
    if found is None:
        state = "may not be executed" if os.path.isfile(beside) else "was not found"
        raise InputError(f"the program {short(program)} {state}; looked in {folder} and on the PATH")
    return [os.path.abspath(found), *parts[1:]]
