"""Renders a template as one HTML page that needs no other file and no network."""

from __future__ import annotations

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from pgbufprobe_page.svg import palette

# The page may fetch nothing.
POLICY = (
    "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)


@cache
def environment(package: str) -> Environment:
    """Returns the templates of a package and of this one, with all values escaped."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(package: str, template: str, script: bool = False, **context: object) -> str:
    """Renders a template of the package, which may have a script of its own."""
    policy = POLICY.format("'unsafe-inline'" if script else "'none'")
    return environment(package).get_template(template).render(policy=policy, palette=palette(), **context)
