"""Self-contained pages with tables and charts, for any report. Knows nothing of experiments or results.

A report extends base.html.j2 with a template of its own and calls render(). A page fetches nothing: style and charts
are in the file. All text is escaped.
"""

from pgbufprobe_page.model import Legend, Picture, Table
from pgbufprobe_page.page import render

__all__ = ["Legend", "Picture", "Table", "render"]
