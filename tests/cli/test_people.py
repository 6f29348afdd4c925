"""`people` and `serve`: links are made, listed and taken back; what is wrong is one line."""

import json

from ..web.making import write


def test_links_are_made_listed_and_taken_back(tmp_path, run):
    write(tmp_path)
    toml = str(tmp_path / "c.toml")
    made = json.loads(run("people", toml, "add", "ann", "--admin", "--json").out)
    assert made["name"] == "ann"
    assert made["link"].startswith("http://127.0.0.1:8765/join/")
    assert "https://label.example/join/" in run("people", toml, "add", "bob", "--url", "https://label.example").out
    listed = json.loads(run("people", toml, "list", "--json").out)["people"]
    assert [(one["name"], one["admin"], one["active"]) for one in listed] == [("ann", True, True), ("bob", False, True)]
    assert "can no longer sign in" in run("people", toml, "remove", "bob").out
    assert "bob (link taken back)" in run("people", toml, "list").out


def test_what_is_wrong_is_one_line(tmp_path, run):
    write(tmp_path)
    toml = str(tmp_path / "c.toml")
    for words, said in (
        (("people", toml, "add"), "a name is missing"),
        (("people", toml, "add", "x" * 61), "1 to 60"),
        (("people", toml, "remove", "eve"), "'eve' has no link that works"),
        (("serve", toml, "--host", "0.0.0.0"), "--tls-certificate"),
        (("serve", toml, "--port", "70000"), "0 to 65535"),
        (("serve", str(tmp_path / "none.toml")), "none.toml"),
    ):
        found = run(*words)
        assert found.code == 2
        assert said in found.err
        assert len(found.err.strip().splitlines()) == 1


def test_a_second_link_is_asked_for_and_names_differ_in_more_than_capitals(tmp_path, run):
    write(tmp_path)
    toml = str(tmp_path / "c.toml")
    run("people", toml, "add", "ben")
    for name in ("ben", "Ben"):
        refused = run("people", toml, "add", name)
        assert (refused.code, "'ben' has a link that works" in refused.err) == (2, True)
        assert len(refused.err.strip().splitlines()) == 1
    again = json.loads(run("people", toml, "add", "Ben", "--new-link", "--json").out)
    assert again["name"] == "ben"
    assert [one["name"] for one in json.loads(run("people", toml, "list", "--json").out)["people"]] == ["ben"]
    assert "ben can no longer" in run("people", toml, "remove", "BEN").out
