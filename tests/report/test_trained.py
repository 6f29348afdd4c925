"""The reliability picture."""

from ratewise.learn.trainer import Trained
from ratewise.report.pictures import save_reliability


def test_a_picture_of_what_was_held_out(tmp_path):
    bins = [{"said": 0.2, "found": 0.1, "items": 5}, {"said": 0.8, "found": 0.9, "items": 5}]
    path = save_reliability(Trained(str(tmp_path), {"held_out": {"items": 10, "reliability": bins}}))
    assert path is not None
    assert path.read_text().count("<svg") == 1
    assert save_reliability(Trained(str(tmp_path), {"held_out": {"items": 0, "reliability": []}})) is None
