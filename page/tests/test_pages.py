"""Pages for any report: a second one needs only a template of its own."""

import json
import re
import sys
from importlib import resources

import pytest

from pgbufprobe_page import Chart, Table, pictures, render
from pgbufprobe_page.charts import Axis, Series, bars

EVIL = "</script><b>&\u2028"
TEMPLATE = """{% extends "base.html.j2" %}{% from "parts.html.j2" import charts, facts, table %}
{% block main %}{{ facts(pairs) }}{{ charts(drawn) }}{{ table(relations) }}{% endblock %}
"""
ROWS = [{"x": EVIL, "y": 1.0, "series": "buffers", "label": "1"}]
CHART = Chart(EVIL, EVIL, bars(ROWS, Axis("relation", (EVIL,)), Axis("buffers"), Series(("buffers",))), name="chart-1")
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


def page_of(package, charts=(CHART,)):
    context = {"title": EVIL, "pairs": [(EVIL, EVIL)], "drawn": charts, "relations": RELATIONS}
    return render(package, "server.html.j2", charts, "/* drawn by the library */", **context)


def test_a_second_report_has_style_facts_charts_and_tables(second):
    page = page_of(second)
    assert page.startswith("<!DOCTYPE html>")
    assert "prefers-color-scheme: dark" in page
    assert 'id="chart-1"' in page
    assert page.count("<table") == page.count("<dl") == page.count("<figure") == 1


def test_names_of_relations_are_never_markup(second):
    page = page_of(second)
    assert "<b>" not in page
    assert page.count("&lt;/script&gt;&lt;b&gt;&amp;") == 13
    specs = json.loads(re.search(r'id="charts">(.*?)</script>', page, re.S)[1])
    assert specs["chart-1"]["data"]["values"][0]["x"] == EVIL.replace("\u2028", " ")


def test_a_page_without_charts_has_no_script(second):
    assert "<script" not in page_of(second, ())


@pytest.mark.parametrize(
    "package, name",
    [("pgbufprobe_page", "page.css"), ("pgbufprobe_lab.report", "report.css"), ("pgbufprobe_report", "server.css")],
)
def test_styles_load_nothing(package, name):
    style = resources.files(package).joinpath("templates", name).read_text()
    assert "{" in style
    assert "@import" not in style
    assert "url(" not in style


def test_pictures_are_named_after_their_charts(tmp_path):
    pictures.draw([CHART], tmp_path / "pictures")
    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["chart-1.svg"]
