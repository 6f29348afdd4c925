from ratewise.testing.judge_server import Faults


def test_faults_of_the_next_calls_come_first_then_their_shares():
    faults = Faults({"500": 0.2, "429": 0.1})
    faults.queue.extend(["cut", None])
    assert [faults.next(), faults.next()] == ["cut", None]
    found = [faults.next() for _ in range(2000)]
    assert 300 < found.count("500") < 500
    assert 120 < found.count("429") < 280
    assert Faults().next() is None
