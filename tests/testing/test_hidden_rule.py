import pytest

from ratewise.testing.hidden_rule import HiddenRule, bell, chance, logistic


def test_the_same_words_give_the_same_chance():
    assert chance("a", "b") == chance("a", "b") != chance("ab")
    draws = [chance("x", str(i)) for i in range(4000)]
    assert sum(draws) / 4000 == pytest.approx(0.5, abs=0.03)  # six standard errors
    normal = [bell("x", str(i)) for i in range(4000)]
    assert sum(x * x for x in normal) / 4000 == pytest.approx(1.0, abs=0.15)


def test_truth_follows_worth_and_models_see_it_through_noise():
    rule = HiddenRule(noise=1.0)
    texts = [f"text {i}" for i in range(4000)]
    gap = sum(rule.truth(text) - rule.worth(text) for text in texts) / 4000
    assert abs(gap) < 0.04  # above five standard errors of a fair coin's
    assert HiddenRule(noise=0.0).seen("x", "m") == rule.quality("x") != rule.seen("x", "m")
    assert rule.seen("x", "m") == rule.seen(" x ", "m") != rule.seen("x", "other")


def test_comparisons():
    rule = HiddenRule()
    found = {(a, b): rule.better(str(a), str(b)) for a in range(20) for b in range(20)}
    assert all(found[a, b] == 1 - found[b, a] for a, b in found)
    assert logistic(-800.0) == 0.0
    assert logistic(800.0) == 1.0
