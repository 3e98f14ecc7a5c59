"""Renders a template as one HTML page that needs no other file and no network."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pgbufprobe_page.model import Chart, spec_text
from pgbufprobe_page.svg import palette

# The page may fetch nothing. Vega compiles its expressions, which needs unsafe-eval.
POLICY = (
    "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)


def asset(name: str) -> str:
    """Returns a file of templates/ as text."""
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


@cache
def vega_bundle() -> str:
    """Returns Vega, Vega-Lite and Vega-Embed as one script.

    The Python package puts it together, which takes two seconds, so it is kept in the virtual environment.
    """
    kept = Path(sys.prefix) / "vega-bundle.js"
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")
    import vl_convert

    text: str = vl_convert.javascript_bundle()
    if sys.prefix != sys.base_prefix:
        partial = kept.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            partial.write_text(text, encoding="utf-8")
            partial.replace(kept)
    return text


@cache
def script_text(text: str) -> Markup:
    """Returns the text of a script, changed so that it cannot end its own element."""
    return Markup(re.sub(r"<(/script|!--)", lambda match: "\\x3c" + match[1], text, flags=re.IGNORECASE))


def script_specs(charts: Sequence[Chart]) -> Markup:
    """Returns the specifications of charts by name, as JSON that is safe inside a script element."""
    text = ",".join(f"{json.dumps(chart.name)}:{spec_text(chart.spec)}" for chart in charts)
    return Markup("{" + text.replace("<", "\\u003c").replace(">", "\\u003e") + "}")


@cache
def environment(package: str) -> Environment:
    """Returns the templates of a package and of this one, with all values escaped."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"script_text": script_text, "script_specs": script_specs}
    return made


def render(
    package: str, template: str, charts: Sequence[Chart] = (), bundle: str = "", script: bool = False, **context: object
) -> str:
    """Renders a template of the package, which may have a script of its own.

    `bundle` replaces the chart library, which is included if there are charts.
    """
    scripts = "'unsafe-inline' 'unsafe-eval'" if charts else "'unsafe-inline'" if script else "'none'"
    return (
        environment(package)
        .get_template(template)
        .render(
            policy=POLICY.format(scripts),
            palette=palette(),
            embedded=charts,
            bundle=bundle or (vega_bundle() if charts else ""),
            **context,
        )
    )
