"""Facts, notes and beginnings: each whole or not at all."""

import pytest

from ratewise.errors import StoreError


def test_a_campaign_begins_once(store):
    assert store.exists()
    store.begin({"spec": "other"}, [])
    assert store.meta("spec") == "{}"


def test_facts_are_changed_and_forgotten(store):
    store.set_meta("ended", "why")
    store.set_meta("ended", "why not")
    assert store.meta("ended") == "why not"
    store.set_meta("ended", None)
    assert store.meta("ended") is None


def test_notes_keep_their_order_and_are_cut(store):
    store.note("first")
    store.note("x" * 5000)
    assert [text[:5] for _, text in store.notes()] == ["first", "xxxxx"]
    assert len(store.notes()[1][1]) == 2000


def test_a_still_look_does_not_see_what_others_write(store, tmp_path):
    other = type(store).at("q.sqlite", str(tmp_path), "q")
    with store.still():
        assert store.meta("ended") is None
        other.set_meta("ended", "meanwhile")
        assert store.meta("ended") is None
    assert store.meta("ended") == "meanwhile"
    other.close()


def test_a_transaction_that_fails_leaves_nothing(store):
    def fail():
        with store.writing() as connection:
            connection.exec_driver_sql("DROP TRIGGER guard_items_delete")
            connection.exec_driver_sql("DELETE FROM items")
            connection.exec_driver_sql("SELECT * FROM nowhere")

    with pytest.raises(StoreError, match=r"q\.sqlite failed"):
        fail()
    assert store.damage() == []
    with store.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM items").scalar() == 10
