"""Functions as raters: sync and async, in threads that keep nothing alive."""

import asyncio
import json as own_json
import os
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pytest

import ratewise
from ratewise.errors import InputError
from ratewise.raters.calling import Caller
from ratewise.raters.protocol import Answer, Failure
from ratewise.raters.python import PythonRater

from ..waiting import no_longer


@pytest.fixture
def rate(module, tmp_path):
    """What a function called f says to questions."""

    def run(source, questions):
        rater = PythonRater(f"{module(source)}:f", folder=str(tmp_path))

        async def go():
            try:
                return list(await rater.rate(questions))
            finally:
                await rater.close()

        return asyncio.run(go())

    return run


@pytest.mark.parametrize("define", ["def", "async def"])
@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ("return item['n'] + 1", Answer(4)),
        ("return None", Answer(None, note="the function gave None")),
        ("return Answer('yes', Decimal('0.1'), 'x')", Answer("yes", Decimal("0.1"), "x")),
        ("return Failure('busy')", Failure("busy")),
        ("raise ValueError('bad\\nworse')", Failure("ValueError: bad")),
        ("sys.exit(3)", Failure("SystemExit: 3")),
        ("raise RaterError('cut', Decimal('0.2'))", Failure("cut", Decimal("0.2"))),
        ("raise KeyError", Failure("KeyError")),
        ("return {'humann': 1}['human']", Failure("KeyError: 'human'")),
        ("return item['nn']", Failure("KeyError: 'nn'; did you mean 'n'?")),
    ],
)
def test_what_a_function_may_do(rate, ask, define, body, reply):
    head = "import sys\nfrom decimal import Decimal\nfrom ratewise.raters.protocol import *\n"
    assert rate(f"{head}{define} f(item):\n    {body}\n", ask("a", "b", n=3)) == [reply, reply]


@pytest.mark.parametrize("parameters", ["item, key", "item, *, key", "item, key=None", "item, other=1, key=2"])
def test_a_function_that_wants_the_key(rate, ask, parameters):
    assert rate(f"def f({parameters}):\n    return key\n", ask("a")) == [Answer("k-a")]


@pytest.mark.parametrize("parameters", ["key", "item, key_=0", "item, **rest", "*all", "item, /"])
def test_a_function_that_does_not(rate, ask, parameters):
    first = parameters.split(",")[0].strip("*")
    unpack = "[0]" if first == "all" else ""
    assert rate(f"def f({parameters}):\n    return {first}{unpack}['text']\n", ask("a")) == [Answer("text of a")]


def test_an_object_with_an_async_call(rate, ask):
    source = "class C:\n    async def __call__(self, item, key):\n        return key\nf = C()\n"
    assert rate(source, ask("a")) == [Answer("k-a")]


def test_a_function_of_c(rate, ask):
    assert rate("f = len\n", ask("a")) == [Answer(1)]


def test_a_coroutine_in_disguise_is_explained(rate, ask):
    assert rate("async def g(item): ...\nf = lambda item: g(item)\n", ask("a")) == [
        Failure("the function gave a coroutine; define it with async def")
    ]


def test_the_function_cannot_change_the_row(rate, ask):
    questions = ask("a")
    rate("def f(item):\n    item.clear()\n", questions)
    assert questions[0].item == {"text": "text of a"}


def test_async_functions_run_at_once_and_sync_ones_in_turn(rate, ask):
    both = "import asyncio, time, threading\nnow = most = 0\n"
    count = "    global now, most\n    now += 1; most = max(most, now)\n    {}\n    now -= 1\n    return most\n"
    together = rate(both + "async def f(item):\n" + count.format("await asyncio.sleep(0.02)"), ask("a", "b", "c"))
    assert together == [Answer(3)] * 3


def test_sync_functions_run_in_turn_in_one_thread_that_is_not_the_loops(rate, ask):
    source = "import threading, time\ndef f(item):\n    time.sleep(0.01)\n    return threading.get_ident()\n"
    threads = {answer.value for answer in rate(source, ask("a", "b", "c"))}
    assert len(threads) == 1
    assert threads != {threading.get_ident()}


def test_sync_functions_of_several_calls_run_at_once_and_do_not_block_the_loop(module, tmp_path, ask):
    name = module("import threading\nmeet = threading.Barrier(4)\ndef f(item): return meet.wait(10) >= 0\n")
    rater = PythonRater(f"{name}:f", folder=str(tmp_path))

    async def go():
        return await asyncio.gather(*(rater.rate(ask("a")) for _ in range(4)))

    assert asyncio.run(go()) == [[Answer(True)]] * 4


@pytest.mark.parametrize(
    "define",
    [
        "import time\ndef f(item):\n    time.sleep(30)",
        "import asyncio\nasync def f(item):\n    await asyncio.sleep(30)",
    ],
)
def test_a_function_that_hangs_is_a_timeout(module, tmp_path, ask, define):
    caller = Caller(PythonRater(f"{module(define)}:f", folder=str(tmp_path)), timeout=0.05)
    assert asyncio.run(caller.ask(ask("a", "b"))) == [Failure("no answer within 0.05 s")] * 2


def test_after_a_timeout_the_rest_of_the_batch_is_not_asked(module, tmp_path, ask):
    name = module(
        "import threading\nasked, over = [], threading.Event()\n"
        "def f(item):\n    asked.append(item['text'])\n    over.wait(30)\n"
    )
    caller = Caller(PythonRater(f"{name}:f", folder=str(tmp_path)), timeout=0.05)
    asyncio.run(caller.ask(ask("a", "b", "c")))
    sys.modules[name].over.set()
    assert not no_longer(lambda: sys.modules[name].asked == ["text of a"], seconds=0.1)


def test_a_function_that_hangs_for_ever_does_not_keep_the_process(tmp_path):
    (tmp_path / "hangs.py").write_text("import threading\ndef f(item):\n    threading.Event().wait()\n")
    script = (
        "import asyncio\nfrom ratewise.raters.calling import Caller\nfrom ratewise.raters.python import PythonRater\n"
        "from ratewise.raters.protocol import Question\n"
        "caller = Caller(PythonRater('hangs:f', folder='.'), timeout=0.1)\n"
        "print(asyncio.run(caller.ask([Question('k', 'i', {})])))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(ratewise.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "no answer within 0.1 s" in done.stdout


def test_neighbours_can_be_imported_at_once_and_later(rate, ask, module):
    module("x = 1\n", "neighbour_one")
    module("y = 2\n", "neighbour_two")
    source = (
        "import neighbour_one\ndef f(item):\n    import neighbour_two\n    return neighbour_one.x + neighbour_two.y\n"
    )
    assert rate(source, ask("a")) == [Answer(3)]


def test_the_folder_ends_up_at_the_end_of_the_path_once(rate, ask, tmp_path, module):
    rate("def f(item): return 1\n", ask("a"))
    PythonRater(f"{module('def f(item): return 1')}:f", folder=str(tmp_path))
    assert sys.path.count(str(tmp_path.resolve())) == 1
    assert sys.path[-1] == str(tmp_path.resolve())


def test_a_file_called_json_beside_the_function_does_no_harm(rate, ask, module, tmp_path):
    (tmp_path / "json.py").write_text("raise RuntimeError")
    assert rate("import json\ndef f(item): return json.dumps(1)\n", ask("a")) == [Answer("1")]
    assert sys.modules["json"] is own_json


def test_packages_and_methods(ask, module, tmp_path):
    (tmp_path / "judge_package").mkdir()
    (tmp_path / "judge_package" / "inner.py").write_text("class A:\n    @staticmethod\n    def f(item): return 1\n")
    rater = PythonRater("judge_package.inner:A.f", folder=str(tmp_path))
    assert asyncio.run(rater.rate(ask("a"))) == [Answer(1)]


@pytest.mark.parametrize(
    ("source", "function", "why"),
    [
        ("x = 1", "g", "has no function g"),
        ("f = 3", "f", "is a int, not a function"),
        ("1/0", "f", "ZeroDivisionError"),
        ("def f(", "f", "SyntaxError"),
        ("import sys; sys.exit(1)", "f", "SystemExit: 1"),
        ("import no_such_thing", "f", "ModuleNotFoundError: No module named 'no_such_thing'"),
    ],
)
def test_errors_of_the_path_are_one_line(module, tmp_path, source, function, why):
    name = module(source)
    with pytest.raises(InputError, match=why) as caught:
        PythonRater(f"{name}:{function}", folder=str(tmp_path))
    assert "\n" not in str(caught.value)


def test_no_such_module(tmp_path, module):
    with pytest.raises(InputError, match=r"cannot import nowhere_at_all from .*No module named 'nowhere_at_all'"):
        PythonRater("nowhere_at_all:f", folder=str(tmp_path))


def test_a_second_module_of_the_same_name_is_not_silently_the_first(module, tmp_path):
    name = module("def f(item): return 1\n")
    PythonRater(f"{name}:f", folder=str(tmp_path))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / f"{name}.py").write_text("def f(item): return 2\n")
    with pytest.raises(InputError, match=f"another module {name} is already loaded from"):
        PythonRater(f"{name}:f", folder=str(tmp_path / "other"))
