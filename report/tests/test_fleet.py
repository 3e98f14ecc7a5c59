"""The page about many servers, as a browser shows it; hostile names; servers that do not answer."""

import json
import os
import re
import socket
import threading
import time
from urllib.parse import unquote

import pytest
from artificial import EVIL, MB, fact, fleet, history, made, report, sizes, verdict
from test_page import Page

from pgbufprobe_report import fleet as fleet_page
from pgbufprobe_report import gather as gathering
from pgbufprobe_report import servers
from pgbufprobe_report.facts import GatherError
from pgbufprobe_report.fleetcli import main
from pgbufprobe_report.gather import gather
from pgbufprobe_report.servers import Answered, Source
from pgbufprobe_report.sparkline import HEIGHT, WIDTH, sparkline

# The cells in which a word is on several lines.
BROKEN = """cells => cells.filter(cell => {
  const range = document.createRange();
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    for (const match of walker.currentNode.data.matchAll(/\\S+/g)) {
      range.setStart(walker.currentNode, match.index);
      range.setEnd(walker.currentNode, match.index + match[0].length);
      if (new Set([...range.getClientRects()].map(line => Math.round(line.top))).size > 1) return true;
    }
  return false;
}).map(cell => cell.textContent)"""


def saved(folder, count):
    """Writes the reports of a fleet, and returns their files."""
    folder.mkdir(exist_ok=True)
    for name, data in fleet(count):
        (folder / f"{name}.json").write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return [str(path) for path in sorted(folder.iterdir())]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of a fleet of 40 servers, one of which has no answer and one a broken file."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "broken.json").write_text("{")
    (folder / "servers.txt").write_text(f"# a comment\n\nhost={folder} port=1 dbname=shop password=secret\n")
    files = [*saved(folder / "facts", 38), str(folder / "broken.json"), str(folder / "servers.txt")]
    assert main([str(folder / "pages"), *files]) == 0
    return folder / "pages"


def opened(browser, path, **options):
    page = browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
    page.goto(path.as_uri())
    return page


def rows(page):
    """Returns the cells of the rows that can be seen."""
    found = page.locator("#servers tbody tr:visible").all()
    return [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in found]


def names(page):
    return [row[0].split()[0] for row in rows(page)]


# ---- the page in a browser ----


def test_servers_are_ordered_by_verdict_and_by_memory(browser, written):
    page = opened(browser, written / "index.html")
    by_verdict = names(page)
    assert len(by_verdict) == 40
    assert by_verdict[:3] == ["db36", "db32", "db28"]
    assert [row[3].split(" ms")[0] for row in rows(page)[:3]] == ["370", "330", "290"]
    verdicts = [row[1].split(maxsplit=1)[1] for row in rows(page)]
    assert list(dict.fromkeys(verdicts)) == ["change", "consider", "fine", "unknown", "no answer"]
    page.select_option("#order", "memory")
    by_memory = names(page)
    assert sorted(by_memory) == sorted(by_verdict)
    assert by_memory[:4] == ["db04", "db12", "db20", "db28"]  # 96 MB each
    assert [row[4] for row in rows(page)[:6]] == ["96 MB"] * 5 + ["48 MB"]
    page.select_option("#order", "verdict")
    assert names(page) == by_verdict
    page.context.close()


def test_a_server_is_a_line(browser, written):
    page = opened(browser, written / "index.html")
    heights = page.locator("#servers tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert max(heights) < 50
    page.context.close()


def test_the_filter_leaves_rows_with_all_words(browser, written):
    page = opened(browser, written / "index.html")
    assert page.inner_text("#count") == "40 of 40"
    page.fill("#filter", "CHANGE db1")
    assert names(page) == ["db16", "db12"]
    assert page.inner_text("#count") == "2 of 40"
    page.keyboard.press("Enter")
    assert names(page) == ["db16", "db12"]
    page.select_option("#order", "memory")
    assert names(page) == ["db12", "db16"]
    page.fill("#filter", "nowhere")
    assert names(page) == []
    page.fill("#filter", "")
    assert len(names(page)) == 40
    page.context.close()


def test_a_click_leads_to_the_report_and_back(browser, written):
    page = opened(browser, written / "index.html")
    page.click("text=db36")
    assert page.url == (written / "db36.html").as_uri()
    assert page.inner_text(".answer h2") == "Take 96 MB instead of 192 MB"
    page.click("text=All servers")
    assert page.url == (written / "index.html").as_uri()
    page.context.close()


def test_without_javascript_all_rows_are_there_by_verdict(browser, written):
    page = opened(browser, written / "index.html", java_script_enabled=False)
    assert len(names(page)) == 40
    assert names(page)[0] == "db36"
    assert not page.locator("#controls").is_visible()
    page.context.close()


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("width, scheme", [(360, "light"), (360, "dark"), (700, "light"), (1280, "dark")])
def test_a_page_is_drawn_without_an_error_or_a_request(browser, tmp_path, count, width, scheme):
    path = tmp_path / "index.html"
    path.write_text(fleet_page.render([Answered(name, name, made(data), "") for name, data in fleet(count)]))
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri(), wait_until="networkidle")
    wide = page.evaluate("document.documentElement.scrollWidth")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    seen = len(names(page))
    tall = page.locator("#servers td:not(.reason)").evaluate_all(BROKEN)
    context.close()
    assert tall == []
    assert said == []
    assert asked == [path.as_uri()]
    assert wide <= width
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}[scheme]
    assert seen == count


# ---- what it says ----


def test_links_lead_to_files_of_the_folder_and_names_are_text(written):
    parsed = Page((written / "index.html").read_text())
    links = [attrs["href"] for attrs in parsed.all("a")]
    assert len(links) == 38
    assert all((written / unquote(link)).is_file() for link in links)
    assert EVIL in parsed.text
    assert parsed.all("img") == []
    assert len(parsed.all("script")) == 1
    assert "broken is not JSON" in parsed.text
    assert "No such file or directory" in parsed.text
    assert "secret" not in "".join(path.read_text() for path in written.iterdir())


def test_times_are_ordered_also_in_other_zones():
    taken = ("2026-11-22T10:00:00+00:00", "2026-11-22T11:30:00+02:00", "2026-11-22T23:00:00+14:00")
    found = [Answered(text, f"db{n}", made(report() | {"taken_at": text}), "") for n, text in enumerate(taken)]
    assert "2026-11-22 23:00:00 UTC+14:00 to 2026-11-22 10:00:00 UTC" in Page(fleet_page.render(found)).text


def row_of(**replaced):
    found = made(report(verdict=fact(list(verdict(**replaced)))))
    return fleet_page.answered(Answered("db", "db", found, ""))


def test_what_could_be_given_back():
    assert row_of().spare == 96 * MB
    assert row_of(advised_bytes=120 * MB, equal_from_bytes=96 * MB).spare == 96 * MB
    kept = row_of(verdict="fine", advised_bytes=192 * MB, equal_from_bytes=144 * MB, saved_ms_per_second=None)
    assert (kept.sizes, kept.gain, kept.spare_text, kept.saved) == ("192 MB, keep", "nothing", "48 MB", 0)
    larger = row_of(advised_bytes=288 * MB, equal_from_bytes=240 * MB)
    assert (larger.sizes, larger.spare_text) == ("192 MB → 288 MB", "nothing")
    unknown = row_of(verdict="unknown", advised_bytes=None)
    assert (unknown.gain, unknown.spare_text) == ("unknown", "unknown")
    assert unknown.reason == "Take 96 MB of the 369 MB of both caches"  # what the checkup says
    assert row_of(verdict="consider", basis="storage reads", saved_ms_per_second=None).gain == "not certain yet"
    assert row_of(verdict="consider", saved_ms_low=0.0, saved_ms_high=4902.0).gain == "not certain yet"


def test_the_first_lines_add_up():
    found = [fleet_page.answered(Answered(name, name, made(data), "")) for name, data in fleet(8)]
    found.append(fleet_page.answered(Answered("gone", "gone", None, "refused")))
    assert fleet_page.headline(found) == "2 of 9 servers should get another size of shared_buffers"
    assert fleet_page.lines(found) == (
        ("Change the size", "2 servers: all their users together would wait 60 ms less in each second"),
        (
            "Perhaps change it",
            "2 servers: all their users together would wait 80 ms less in each second; not certain yet",
        ),
        ("Keep the size", "2 servers"),
        (
            "Could give back",
            "3 servers: 192 MB. It is not free until shared_buffers is changed there; then the page cache uses it, "
            "and the times count on that",
        ),
        ("Unknown", "2 servers; their reports have the reason"),
        ("No answer", "1 server"),
    )
    assert fleet_page.headline(found[2:4]) == (
        "No server is known to need another size of shared_buffers; 1 of 2 are unknown"
    )
    assert fleet_page.headline(found[2:3]) == "None of 1 server should get another size of shared_buffers"


def test_the_small_curve_is_that_of_waiting_or_else_of_reads():
    curve = sparkline(made())
    assert curve.text == "Waiting for reads from 48 MB to 288 MB, lowest at 48 MB"
    points = [tuple(map(float, pair.split(","))) for pair in curve.line.split()]
    assert len(points) == 8  # the sizes that fit
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
    assert points == sorted(points)
    assert curve.today == pytest.approx(points[5][0], abs=0.1)
    assert curve.advised == pytest.approx(points[1], abs=0.1)
    untimed = [row | dict.fromkeys(("read_ms_per_second", "read_ms_low", "read_ms_high")) for row in sizes()]
    assert sparkline(made(report(sizes=fact(untimed)))).text.startswith("Storage reads")
    assert sparkline(made(report(sizes=fact(list(sizes(known=False)))))) is None


def test_redacted_pages_have_no_names(tmp_path, capsys):
    (tmp_path / "servers.txt").write_text(f"host={tmp_path} dbname=topsecret\n")
    files = [*saved(tmp_path / "facts", 8), str(tmp_path / "servers.txt")]
    assert main(["--json", "--redact", str(tmp_path / "pages"), *files]) == 0
    written = list((tmp_path / "pages").iterdir())
    assert {path.name for path in written} == {"index.html"} | {
        f"server-{n}.{e}" for n in range(1, 9) for e in ("html", "json")
    }
    text = "".join(re.sub(r'(?s)<script( type="module")?>.*?</script>', "", path.read_text()) for path in written)
    for name in ("db0", "topsecret", str(tmp_path), "shop", "5/main", "quoted", "orders", "db1.example"):
        assert name not in text, name
    assert "server 9" in text
    assert main([str(tmp_path / "again"), *(str(path) for path in written if path.suffix == ".json")]) == 0


# ---- where servers come from ----


def test_a_hundred_reports_are_written_once_each(tmp_path):
    assert main([str(tmp_path / "pages"), *saved(tmp_path / "facts", 100)]) == 0
    assert len(list((tmp_path / "pages").glob("db*.html"))) == 100
    assert len(Page((tmp_path / "pages" / "index.html").read_text()).all("a")) == 100


def test_names_of_files_are_plain_and_distinct():
    found = servers._distinct(["index", "../../etc/passwd", "a b", "a/b", "A-B", "名", "", "x" * 300])
    assert found == ["index-2", "etc-passwd", "a-b", "a-b-2", "A-B-3", "server", "server-2", "x" * 80]


def test_servers_of_files(tmp_path, monkeypatch):
    monkeypatch.delenv("PGSERVICEFILE", raising=False)
    (tmp_path / "dsns").write_text(
        "host=db1 dbname=shop password=secret\n# no\n postgresql://u:secret@db2:5433/shop\nservice=shop\ngarbage\n\n"
    )
    found = servers.sources(str(tmp_path / "dsns"))
    assert [source.name for source in found] == ["db1 shop", "db2:5433 shop", "shop", "dsns, line 5"]
    (tmp_path / "services").write_text("# all\n[one]\nhost=db1\n\n[o'n\\e]\nhost=db2\n")
    found = servers.sources(str(tmp_path / "services"))
    assert found == [Source("one", "service='one'"), Source("o'n\\e", "service='o\\'n\\\\e'")]
    assert os.environ["PGSERVICEFILE"] == str(tmp_path / "services")
    (tmp_path / "others").write_text("[three]\nhost=db3\n")
    (refused,) = servers.sources(str(tmp_path / "others"))
    assert refused.wrong.startswith("others is not the service file that PGSERVICEFILE names")


def test_files_without_servers(tmp_path, capsys):
    (tmp_path / "none").write_text("# nothing\n")
    (tmp_path / "bytes").write_bytes(b"\xff\n")
    (tmp_path / "file").touch()
    for path, error in (("none", "name no server"), ("absent", "could not read"), ("bytes", "is not UTF-8")):
        assert main([str(tmp_path / "pages"), str(tmp_path / path)]) == 2
        assert error in capsys.readouterr().err
    assert main([str(tmp_path / "file"), *saved(tmp_path / "facts", 1)]) == 2
    assert "could not write" in capsys.readouterr().err


def test_facts_that_no_server_has_are_a_row_with_the_reason(tmp_path, capsys):
    impossible = report(history=fact([row | {"usagecounts": [0]} for row in history()]))
    (tmp_path / "odd.json").write_text(json.dumps(impossible))
    assert main([str(tmp_path / "pages"), str(tmp_path / "odd.json")]) == 2
    assert "cannot be those of a server" in Page((tmp_path / "pages" / "index.html").read_text()).text
    assert not (tmp_path / "pages" / "odd.html").exists()


# ---- asking ----


def test_so_many_servers_are_asked_at_once(monkeypatch):
    running, most, lock = set(), [], threading.Lock()
    gate = threading.Barrier(servers.AT_ONCE)

    def slow(dsn):
        with lock:
            running.add(dsn)
            most.append(len(running))
        gate.wait(timeout=30)  # only so many at once open it
        with lock:
            running.discard(dsn)
        raise GatherError(f"{dsn} refused")

    monkeypatch.setattr(servers, "gather", slow)
    shown = []
    count = 2 * servers.AT_ONCE
    found = servers.ask([Source(f"db{number}", f"dsn{number}") for number in range(count)], False, shown.append)
    assert max(most) == servers.AT_ONCE
    assert [each.reason for each in found] == [f"db{number} refused" for number in range(count)]
    assert [text.split(", ")[0] for text in shown] == [f"{done} of {count} asked" for done in range(1, count + 1)]


class Silent(threading.Thread):
    """A server that accepts connections and then says nothing, or what it is given."""

    def __init__(self, *answers):
        super().__init__(daemon=True)
        self.socket, self.answers, self.kept = socket.create_server(("127.0.0.1", 0)), answers, []
        self.start()

    def run(self):
        with self.socket:
            self.kept.append(self.socket.accept()[0])
            for answer in self.answers:
                self.kept[0].recv(4096)
                self.kept[0].sendall(answer)
            time.sleep(60)

    @property
    def dsn(self):
        return f"host=127.0.0.1 port={self.socket.getsockname()[1]} user=u dbname=d sslmode=disable gssencmode=disable"


def message(kind, body):
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def test_a_server_that_accepts_no_session_is_left(monkeypatch):
    monkeypatch.setattr(gathering, "CONNECT_SECONDS", 2)
    with pytest.raises(GatherError, match="timeout"):
        gather(Silent().dsn)


def test_a_server_that_answers_no_query_is_left(monkeypatch):
    monkeypatch.setattr(gathering, "SECONDS", 0.3)
    monkeypatch.setattr(gathering, "SPARE_SECONDS", 0.2)
    ready = (
        message(b"R", bytes(4)) + message(b"S", b"server_encoding\0UTF8\0") + message(b"S", b"client_encoding\0UTF8\0")
    )
    with pytest.raises(GatherError, match=r"the server did not answer within 0.5 s"):
        gather(Silent(ready + message(b"Z", b"I")).dsn)
