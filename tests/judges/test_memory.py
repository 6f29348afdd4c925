from ratewise.judges.judge import Forgetful


def test_the_memory_of_one_run():
    memory = Forgetful()
    assert memory.recall("ladder") is None
    memory.keep("ladder", "x")
    memory.tell("something")
    assert (memory.recall("ladder"), memory.told, list(memory.earlier())) == ("x", ["something"], [])
