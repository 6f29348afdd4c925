"""What may be a secret is not shown, and what is none stays readable."""

import pytest

from ratewise.raters.secrets import address_problem, safe_text, safe_words, without_secrets


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://bob:pw@host/db", "postgresql://***@host/db"),
        ("postgresql://bob:p@w@host/db", "postgresql://***@host/db"),
        ("postgresql://host/db?user=bob&password=pw", "postgresql://host/db?user=bob&password=***"),
        ("campaign.sqlite", "campaign.sqlite"),
    ],
)
def test_addresses(address, shown):
    assert without_secrets(address) == shown


def test_words_of_a_command():
    words = ("python", "judge.py", "--api-key", "abc", "--model", "large", "--token=abc", "-v", "--password", "--quiet")
    assert safe_words(words) == (
        "python", "judge.py", "--api-key", "***", "--model", "large", "--token=***", "-v", "--password", "--quiet",
    )  # fmt: skip
    assert safe_text("judge --secret abc  --n 3") == "judge --secret ***  --n 3"
    assert safe_text("plain text") == "plain text"


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("postgresql://bob:pw@host:5432/db", ""),
        ("postgresql://host/db", ""),
        ("postgresql:///db?host=/var/run", ""),
        ("postgresql+psycopg://postgres@/postgres?host=/tmp/x", ""),
        ("postgresql://bob@[::1]:5432/db", ""),
        ("postgresql://bob:p@w@host/db", "%40"),
        ("postgresql://bob:p/w@host/db", "%2F"),
        ("postgresql://bob:pw@host:port/db", "port"),
        ("postgresql://bob:pw@host:70000/db", "port"),
    ],
)
def test_addresses_that_cannot_be_read(address, problem):
    found = address_problem(address)
    assert (problem in found) if problem else found == ""
    assert "pw" not in found
