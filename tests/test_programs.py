import pytest

from .programs import needed


def test_what_is_there_is_given_back():
    assert needed("/usr/bin/java", "install Java") == "/usr/bin/java"


def test_what_is_missing_is_a_reason_on_a_new_machine_and_a_failure_in_ci(monkeypatch):
    monkeypatch.delenv("RATEWISE_TEST_ALL", raising=False)
    with pytest.raises(pytest.skip.Exception, match="install Java"):
        needed(None, "install Java")
    monkeypatch.setenv("RATEWISE_TEST_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="install Java"):
        needed("", "install Java")
