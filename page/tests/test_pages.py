"""Pages for any report: a second one needs only a template of its own."""

import sys
from importlib import resources
from xml.etree import ElementTree

import pytest

from pgbufprobe_page import Legend, Picture, Table, render
from pgbufprobe_page.svg import Axis, Line, Point, stacks

EVIL = "</script><b>&\u2028"
TEMPLATE = """{% extends "base.html.j2" %}{% from "parts.html.j2" import facts, pictures, table %}
{% block main %}{{ facts(pairs) }}{{ pictures(drawn) }}{{ table(relations) }}{% endblock %}
"""
DRAWN = stacks([Line(EVIL, "c1", [Point(1, 0, text=EVIL)])], Axis(EVIL), (EVIL,), EVIL, lambda _: EVIL)
PICTURE = Picture(EVIL, EVIL, (DRAWN,), Legend(((EVIL, "c1"), (EVIL, "c2"))))
RELATIONS = Table(EVIL, ("Relation", EVIL), ((EVIL, EVIL),), (False, True))


@pytest.fixture
def second(tmp_path, monkeypatch):
    """A package with a template, as another report has it."""
    (tmp_path / "second" / "templates").mkdir(parents=True)
    (tmp_path / "second" / "__init__.py").touch()
    (tmp_path / "second" / "templates" / "server.html.j2").write_text(TEMPLATE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "second"
    sys.modules.pop("second", None)


def page_of(package):
    context = {"title": EVIL, "pairs": [(EVIL, EVIL)], "drawn": [PICTURE], "relations": RELATIONS}
    return render(package, "server.html.j2", **context)


def test_a_second_report_has_style_facts_charts_and_tables(second):
    page = page_of(second)
    assert page.startswith("<!DOCTYPE html>")
    assert "prefers-color-scheme: dark" in page
    assert page.count("<table") == page.count("<dl") == page.count("<figure") == 1


def test_names_of_relations_are_never_markup(second):
    page = page_of(second)
    assert "<b>" not in page
    assert page.count("&lt;/script&gt;&lt;b&gt;&amp;") == 18
    assert "script-src &#39;none&#39;" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    "package, name",
    [("pgbufprobe_page", "page.css"), ("pgbufprobe_lab.report", "report.css"), ("pgbufprobe_report", "server.css")],
)
def test_styles_load_nothing(package, name):
    style = resources.files(package).joinpath("templates", name).read_text()
    assert "{" in style
    assert "@import" not in style
    assert "url(" not in style


def test_a_file_has_its_legend_and_is_well_formed():
    root = ElementTree.fromstring(PICTURE.file())
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:2] == [EVIL, EVIL]
    assert "var(" not in PICTURE.file()
