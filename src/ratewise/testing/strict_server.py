"""A judge that bills as strict services do: by key. It is the judge server, and takes nobody's word for a repetition.

    from ratewise.testing.strict_server import StrictServer

    with StrictServer() as server:
        ...
        server.bills        # what each key costs

A key that comes again with other bytes is refused (422), as is a request without a key (400). One that comes again with
the same bytes gets its answer again and is billed once; with `replays = False` it is answered anew and billed again.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ratewise.testing.judge_server import Fault, JudgeServer, Reply

_KEY = re.compile(r"[!-~]{1,255}")


@dataclass(frozen=True, slots=True)
class Bill:
    """Tokens of one key."""

    calls: int = 0
    input: int = 0
    output: int = 0


@dataclass(slots=True, eq=False)
class StrictServer(JudgeServer):
    """The judge server with a bill for each key."""

    replays: bool = True
    bills: dict[str, Bill] = field(init=False, default_factory=dict)
    asked: Counter[str] = field(init=False, default_factory=Counter)  # times that each key came
    refused: int = field(init=False, default=0)  # keys that came with other bytes, or were none
    _bytes: dict[str, str] = field(init=False, default_factory=dict)  # by key, a digest of its request

    async def _reply(self, path: str, headers: Mapping[str, str], content: bytes) -> Reply:
        key = headers.get("idempotency-key", "")
        if _KEY.fullmatch(key) is None:
            self.refused += 1
            return self._error(400, "An Idempotency-Key of 1 to 255 printable ASCII characters is needed")
        request = hashlib.sha256(path.encode() + b"\n" + content).hexdigest()
        if self._bytes.setdefault(key, request) != request:
            self.refused += 1
            return self._error(422, "Keys for idempotent requests can only be used with the same request")
        self.asked[key] += 1
        if not self.replays:
            self._answered.pop(key, None)
        return await JudgeServer._reply(self, path, headers, content)

    def _answer_to(self, key: str, path: str, content: bytes, fault: Fault | None) -> Reply:
        """The answer, with its tokens on the key's bill."""
        before = self.billed.calls, self.billed.input, self.billed.output
        reply = self._answer(path, content, fault)
        now, old = (self.billed.calls, self.billed.input, self.billed.output), self.bills.get(key, Bill())
        calls, taken, given = (after - start for start, after in zip(before, now, strict=True))
        self.bills[key] = Bill(old.calls + calls, old.input + taken, old.output + given)
        if reply.status == 200 and self.replays:
            self._answered[key] = reply  # also one that helps nobody: it was billed
        return reply
