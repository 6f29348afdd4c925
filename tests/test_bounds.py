"""The bounds by summing the binomial's own terms."""

import math

import pytest

from .bounds import FALSE_ALARM, fewest, most


def chance_of(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize(("target", "trials"), [(0.95, 300), (0.91, 40), (0.5, 7)])
def test_chance_falls_below_the_fewest_no_oftener_than_the_false_alarm_rate(target, trials):
    k = round(fewest(target, trials) * trials)
    below = sum(chance_of(j, trials, target) for j in range(k))
    assert below < FALSE_ALARM <= below + chance_of(k, trials, target)


@pytest.mark.parametrize(("share", "trials"), [(0.05, 300), (0.09, 40), (0.5, 7)])
def test_chance_exceeds_the_most_no_oftener_than_the_false_alarm_rate(share, trials):
    k = round(most(share, trials) * trials)
    above = sum(chance_of(j, trials, share) for j in range(k + 1, trials + 1))
    assert above <= FALSE_ALARM < above + chance_of(k, trials, share)
