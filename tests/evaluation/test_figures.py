import sys
from itertools import pairwise

import matplotlib
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.figures import (
    BLUE,
    COLORS,
    check_ending,
    counted,
    curve_style,
    in_style,
    new_figure,
    prepare_folder,
    save_both,
    save_figure,
    wrapped,
)

BEGINNINGS = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


@in_style()
def draw():
    figure = new_figure(3, 2)
    figure.subplots().plot([0, 1], [0, 1], label="a", **curve_style(1))
    return figure


def lightness(color):
    red, green, blue = matplotlib.colors.to_rgb(color)
    return 0.299 * red + 0.587 * green + 0.114 * blue


@pytest.mark.parametrize(("ending", "beginning"), BEGINNINGS.items())
def test_the_same_figure_gives_the_same_file(tmp_path, ending, beginning):
    paths = [tmp_path / folder / f"a{ending.upper()}" for folder in ("one", "other")]
    for path in paths:
        path.parent.mkdir()
        save_figure(draw(), path)
    one, other = (path.read_bytes() for path in paths)
    assert one == other
    assert one.startswith(beginning)


def test_both_files_are_written(tmp_path):
    save_both(draw(), tmp_path / "v1.2")
    assert {path.name for path in tmp_path.iterdir()} == {"v1.2.svg", "v1.2.png"}


def test_the_settings_of_the_user_do_not_matter(tmp_path):
    save_figure(draw(), tmp_path / "a.svg")
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False}):
        (tmp_path / "b").mkdir()
        save_figure(draw(), tmp_path / "b" / "a.svg")
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b" / "a.svg").read_bytes()


def test_curves_differ_in_more_than_color():
    styles = [curve_style(number) for number in range(4)]
    for key in ("color", "linestyle", "linewidth", "marker", "markersize", "zorder"):
        assert len({style[key] for style in styles}) == 4, key
    assert [style["linewidth"] for style in styles] == sorted((style["linewidth"] for style in styles), reverse=True)
    assert curve_style(50)["linewidth"] > 1
    assert styles[1]["color"] == BLUE
    levels = [lightness(color) for color in COLORS[:4]]
    assert all(abs(one - other) > 0.2 for one, other in pairwise(levels))


def test_texts():
    assert (counted(1, "link"), counted(1234, "link")) == ("1 link", "1,234 links")
    assert wrapped("a long name", 6) == "a long\nname"
    assert wrapped("/a/path/without/blanks", 10) == "/a/path/wi\nthout/blan\nks"


def test_what_cannot_be_written_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(SapbertError, match=r"\.txt.*picture format.*\.svg"):
        check_ending(tmp_path / "log.txt")
    with pytest.raises(SapbertError, match="E507"):
        save_figure(draw(), tmp_path / "no" / "a.svg")
    with pytest.raises(SapbertError, match="E507"):
        prepare_folder(tmp_path / "file" / "plots")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SapbertError, match=r"E542.*matplotlib"):
        prepare_folder(tmp_path / "plots")
    with pytest.raises(SapbertError, match=r"E542.*matplotlib"):
        draw()
