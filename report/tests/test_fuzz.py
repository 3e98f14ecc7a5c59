"""Whatever a file has, the page about all servers is written, and has a row for each: its verdict, or the reason."""

import json
import math
import os
import re
from copy import deepcopy

import pytest
from artificial import fact, fleet, report, verdict
from test_page import Page

from pgbufprobe_report import cli, fleetcli

MISSING = object()
VALUES = (MISSING, None, True, "", "word", 0, -1, 10**17, 10**400, math.nan, math.inf, 1e-320, [], {}, [[]])
VALUES += ("2026-11-22T12:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "\ud800\x00<b>")
STEP = 29  # takes each of so many changes; has no factor in common with the number of values


def places(value, path=()):
    """Yields each place in JSON, and of a list only its ends."""
    yield path
    keys = value if isinstance(value, dict) else sorted({0, len(value) - 1}) if isinstance(value, list) else ()
    for key in keys:
        if value:
            yield from places(value[key], (*path, key))


def changed(data, path, value):
    """Returns the same JSON with one other value, or without it."""
    if not path:
        return None if value is MISSING else value
    made = deepcopy(data)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if value is MISSING:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


def texts():
    """Yields files by name: facts with one change each, and such as are cut off, damaged or no facts at all."""
    data = report()
    changes = [(path, value) for path in places(data) for value in VALUES]
    for path, value in changes[::STEP]:
        said = "" if value is MISSING else json.dumps(value)[:30]
        yield f"{'.'.join(map(str, path))}={said}", json.dumps(changed(data, path, value)).encode()
    whole = json.dumps(report()).encode()
    for part in range(16):
        cut = part * len(whole) // 16
        yield f"first {part}/16", whole[:cut]
        yield f"byte {part}/16", whole[:cut] + b"\xff" + whole[cut + 1 :]
    yield "nested lists", b"[" * 200_000
    yield "nested objects", b'{"a":' * 200_000
    yield "nested fact", whole.replace(b'"redacted": false', b'"redacted": ' + b"[" * 900 + b"]" * 900)
    yield "UTF-16", whole.decode().encode("utf-16")
    yield "zeros", bytes(5000)
    yield "digits", b"9" * 5000


def table(folder):
    """Returns the text of the row of each server by its name."""
    text = (folder / "index.html").read_text()
    body = re.findall(r"(?s)<tr data-verdict=.*?</tr>", text)
    found = {re.search(r'(?s)<th scope="row">(?:<a href=".*?">)?(.*?)(?:</a>|\n|</th>)', row)[1]: row for row in body}
    assert len(found) == len(body)
    return {name: " ".join(Page(row).text.split()) for name, row in found.items()}


def test_no_file_keeps_the_others_from_being_shown(tmp_path, capsys):
    files, whats = [], {}
    for number, (what, text) in enumerate(texts()):
        files.append(tmp_path / f"odd{number:04}.json")
        files[-1].write_bytes(text)
        whats[f"odd{number:04}"] = what
    for name, data in fleet(4):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(data))
    assert len(files) > 300
    assert fleetcli.main([str(tmp_path / "alone"), *(str(path) for path in files[-4:])]) == 0
    assert fleetcli.main(["--json", str(tmp_path / "pages"), *map(str, files)]) == 0
    found = table(tmp_path / "pages")
    assert len(found) == len(files)
    for name, row in table(tmp_path / "alone").items():
        assert found[name] == row
    # What is foreseen has its own reason.
    assert {whats[name]: row for name, row in found.items() if "unexpected" in row} == {}
    # Each row has a report, or the reason why there is none.
    assert len([row for row in found.values() if "no answer" in row and " is not " in row]) > 100
    for name, row in found.items():
        assert (tmp_path / "pages" / f"{name}.html").exists() == ("no answer" not in row), whats.get(name)
    capsys.readouterr()


def test_what_is_no_file_or_cannot_be_read(tmp_path, monkeypatch):
    (tmp_path / "known.json").write_text(json.dumps(report()))
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "bytes").write_bytes(b"\xff\n")
    (tmp_path / "empty.json").touch()
    (tmp_path / "loop.json").symlink_to("loop.json")
    os.mkfifo(tmp_path / "pipe.json")
    names = ["known.json", "known.json", "folder.json", "bytes", "empty.json", "loop.json", "pipe.json", "absent"]
    assert fleetcli.main([str(tmp_path / "pages"), *(str(tmp_path / name) for name in names)]) == 0
    rows = re.findall(r"(?s)<tr data-verdict=.*?</tr>", (tmp_path / "pages" / "index.html").read_text())
    said = [" ".join(Page(row).text.split()) for row in rows]
    assert len(said) == len(names)
    assert sum(row.startswith("known") for row in said) == 2
    assert {path.name for path in (tmp_path / "pages").iterdir()} == {"index.html", "known.html", "known-2.html"}
    text = " ".join(said)
    for reason in ("is not UTF-8", "is not JSON", "symbolic links", "is not a file", "No such file"):
        assert reason in text, reason


def test_an_error_that_nobody_foresaw_is_a_row(tmp_path, monkeypatch):
    def broken(each, back):
        raise KeyError(each.server.host)

    for name in ("known", "other"):
        (tmp_path / f"{name}.json").write_text(json.dumps(report()))
    monkeypatch.setattr(fleetcli.page, "render", broken)
    assert fleetcli.main([str(tmp_path / "pages"), str(tmp_path / "known.json")]) == 2
    assert "unexpected KeyError" in table(tmp_path / "pages")["known"]
    monkeypatch.setattr(fleetcli.servers, "load", broken)
    assert fleetcli.main([str(tmp_path / "pages"), str(tmp_path / "known.json")]) == 2
    assert "unexpected TypeError" in table(tmp_path / "pages")["known"]


def test_a_word_of_a_later_version_is_unknown(tmp_path):
    later = report(verdict=fact(list(verdict(verdict="grow"))))
    later["facts"]["checkup"]["rows"][0]["verdict"] = "grow"
    (tmp_path / "later.json").write_text(json.dumps(later))
    (tmp_path / "known.json").write_text(json.dumps(report()))
    assert fleetcli.main([str(tmp_path / "pages"), str(tmp_path / "later.json"), str(tmp_path / "known.json")]) == 0
    found = table(tmp_path / "pages")
    assert "? unknown" in found["later"]
    assert "later version" in found["later"]
    assert "96 MB" not in found["later"]
    assert "! change" in found["known"]
    page = Page((tmp_path / "pages" / "later.html").read_text()).text
    assert "Take 96 MB instead" not in page
    assert "grow" not in page


@pytest.mark.parametrize("text", [b"[" * 200_000, b"\xff\xfe", b""])
def test_a_file_that_is_no_report(tmp_path, text, capsys):
    (tmp_path / "a.json").write_bytes(text)
    assert cli.main([str(tmp_path / "a.json")]) == 2
    assert "is not JSON" in capsys.readouterr().err
