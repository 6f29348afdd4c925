from decimal import Decimal

import pytest

from ratewise.errors import InputError
from ratewise.judges.prices import (
    TokenPrices,
    Usage,
    given_prices,
    listed_prices,
    most_tokens,
    read_usage,
    usual_tokens,
)


def test_prices_of_the_toml_are_exact():
    prices = given_prices({"input": Decimal("0.15"), "output": Decimal("0.60"), "cached": Decimal("0.075")})
    assert prices.cost(Usage(1000, 10, 400)) == Decimal("0.000126")
    assert prices.source == "TOML"
    assert given_prices({"input": Decimal(2), "output": Decimal(8)}).cached == 2
    assert given_prices({"call": Decimal("0.01")}).cost(Usage(1000, 10)) == Decimal("0.01")
    assert TokenPrices.from_json(prices.to_json()) == prices


def test_the_most_covers_every_split_of_the_input():
    odd = given_prices({"input": Decimal(1), "output": Decimal(2), "cached": Decimal(3)})
    assert odd.most(100, 10) == odd.cost(Usage(100, 10, 100)) > odd.cost(Usage(100, 10))


def test_the_list_knows_a_model_and_tells_how_new_it_is():
    prices = listed_prices("gpt-4o-mini", "https://api.openai.com/v1")
    assert 0 < prices.cached < prices.input < prices.output
    assert prices.source.startswith("genai-prices ")
    assert "newest price of 20" in prices.source
    assert "(openai/" in prices.source


@pytest.mark.parametrize(
    ("model", "address"),
    [
        ("gpt-4o-mini", "http://127.0.0.1:8000/v1"),
        ("gpt-4o-mini", "http://10.0.0.7/v1"),
        ("no-such-model-9", "https://api.openai.com/v1"),
        ("gpt-4o-mini", "https://models.example.com/v1"),
    ],
)
def test_an_unknown_price_is_an_error_and_never_0(model, address):
    with pytest.raises(InputError, match=r'price of model .* is unknown; write prices = \{ input = "0.15"'):
        listed_prices(model, address)


def test_usage_in_the_words_of_both_protocols():
    chat = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}
    assert read_usage({"usage": chat}) == Usage(100, 7, 64)
    decisions = {"input_tokens": 90, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 0}}
    assert read_usage({"usage": decisions}) == Usage(90, 3, 0)
    for nothing in ({}, {"usage": None}, {"usage": {"prompt_tokens": 5}}, {"usage": {"prompt_tokens": -1}}):
        assert read_usage(nothing) is None
    assert read_usage({"usage": {"prompt_tokens": True, "completion_tokens": 1}}) is None


def test_counted_tokens_bound_what_tokenisers_make():
    for text, tokens in (("The quick brown fox jumps.", 6), ("1234567890", 10), ("ключ 密钥 🙂", 12), ("a-b_c;d", 7)):
        assert tokens <= most_tokens([{"content": text}]) - 32
    long = [{"content": "All work and no play makes Jack a dull boy. " * 100}]
    assert usual_tokens(long) < most_tokens(long) < 3 * usual_tokens(long)
