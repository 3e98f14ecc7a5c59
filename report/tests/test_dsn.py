"""No password is ever repeated: not in a page, nor in its files' names, nor in a message."""

import json

import pytest
from artificial import report

from pgbufprobe_report import cli, fleetcli, servers

PLACE = "host=127.0.0.1 port=1"  # where no server is
# Those that libpq cannot parse, or in which it takes a part of a password for another value.
UNCLEAR = (
    "SECRET",
    "u:SECRET@h/db.json",
    "postgresql://u:SECRET/db",
    "postgresql://u:SECRET%ZZSECRET@127.0.0.1:1/db",
    "postgresql://u:SECRET%00SECRET@127.0.0.1:1/db",
    "postgresql://u:SECRET@SECRET@127.0.0.1:1/db",
    "postgresql://u:SECRET/SECRET@127.0.0.1:1/db",
    "postgresql://u:1/SECRET@127.0.0.1:1/db",
    "postgresql://u:SECRET@[127.0.0.1:1/db",
    "postgresql://127.0.0.1?password=SECRET@h",
    "postgresql://127.0.0.1:1/db?password=SECRET&SECRET",
    "postgresql://127.0.0.1:1/db?password=SECRET%ZZ",
    "postgresql://127.0.0.1:1/db?passwort=SECRET",
    "postgresql+driver://u:SECRET@127.0.0.1:1/db",
    "jdbc:postgresql://127.0.0.1:1/db?user=u&password=SECRET",
    "password=SECRET SECRET",
    f"{PLACE} password=SECRET SECRET=SECRET",
    f"{PLACE} password='SECRET",
    f"{PLACE} password='SECRET'SECRET",
    f"{PLACE} dbname=postgresql://u:SECRET@h/db",
    f"{PLACE} dbname='user=u password=SECRET'",
    "host=postgresql://u:SECRET@h/db",
    "host=u:SECRET@h",
    "host=127.0.0.1 port=SECRET",
    "service=postgresql://u:SECRET@h/db",
)
CLEAR = (
    "postgresql://u:SECRET@127.0.0.1:1/db",
    "postgresql://u:SECRET?:SECRET%40@127.0.0.1:1/db",
    "postgresql://u:SECRET@127.0.0.1:1/db.json",
    "postgresql://127.0.0.1:1/db?user=u&password=SECRET",
    f"{PLACE} password=SECRET.json",
    f"{PLACE} password='SECRET \\'SECRET'",
    f"{PLACE} password = SECRET@:/=postgresql://u:SECRET@h/db",
    f"{PLACE} user=u@x sslpassword=SECRET passfile=/none options='-c a.b=SECRET'",
)


@pytest.fixture
def pages(tmp_path, capfd):
    """Returns what report/fleet has said and written about connection strings, and about a server that is known."""

    def asked(*lines):
        (tmp_path / "known.json").write_text(json.dumps(report()))
        (tmp_path / "list").write_text("\n".join(lines))
        arguments = [str(tmp_path / name) for name in ("pages", "known.json", "list")]
        assert fleetcli.main(["--json", *arguments]) == 0
        written = {path.name: path.read_text() for path in (tmp_path / "pages").iterdir()}
        assert "known.html" in written
        assert written["index.html"].count("<tr data-verdict=") == len(lines) + 1
        said = capfd.readouterr()
        assert said.out == ""
        return said.err, written

    return asked


def test_the_page_about_all_repeats_no_password(pages):
    said, written = pages(*UNCLEAR, *CLEAR)
    assert "SECRET" not in said + "".join(written) + "".join(written.values())
    for number in range(1, len(UNCLEAR) + 1):
        assert f"report/fleet: list, line {number}: not a connection string" in said


def test_a_connection_string_that_is_clear_is_asked(pages):
    said, _ = pages(*CLEAR)
    assert "not a connection string" not in said
    assert said.count("127.0.0.1:1") >= len(CLEAR)
    assert said.count("onnection refused") == len(CLEAR)


def test_a_number_that_is_none_is_a_row(pages):
    given = ("1e999", "nan", "SECRET")
    said, written = pages(*(f"{PLACE} connect_timeout={number} password=SECRET" for number in given))
    assert said.count("connect_timeout is not a number of seconds") == len(given)
    assert "SECRET" not in said + "".join(written.values())


@pytest.mark.parametrize("dsn", UNCLEAR)
def test_the_report_about_one_repeats_no_password(dsn, capfd):
    assert cli.main(["--json", dsn]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert "report/run: not a connection string" in said.err
    assert "SECRET" not in said.err


@pytest.mark.parametrize(
    "main, arguments",
    [
        (cli.main, ["host=127.0.0.1", "port=1", "password=SECRET"]),
        (cli.main, ["host=127.0.0.1", "password=SECRET"]),
        (cli.main, ["--password=SECRET", "host=127.0.0.1"]),
        (fleetcli.main, ["folder", "list", "--password=SECRET"]),
    ],
)
def test_wrong_arguments_are_not_repeated(main, arguments, capfd):
    with pytest.raises(SystemExit):
        main(arguments)
    said = capfd.readouterr().err
    assert "usage: " in said
    assert "SECRET" not in said


@pytest.mark.parametrize("dsn", ["host=h password=SECRET", "postgresql://u:SECRET@h/db.json", "u:SECRET@h/db"])
def test_a_connection_string_in_the_place_of_a_file_is_not_repeated(dsn, tmp_path, capfd):
    assert fleetcli.main([str(tmp_path / "pages"), dsn]) == 2
    said = capfd.readouterr().err
    assert "connection strings must be in a file" in said
    assert "SECRET" not in said


def test_a_line_is_a_file_only_if_there_is_one(tmp_path):
    (tmp_path / "db1.json").write_text(json.dumps(report()))
    (tmp_path / "folder.json").mkdir()
    lines = [str(tmp_path / "db1.json"), str(tmp_path / "folder.json"), "host=h dbname=x.json"]
    (tmp_path / "list").write_text("\n".join(lines))
    found = servers.ask(servers.sources(str(tmp_path / "list"))[:2], False)
    assert [each.name for each in found] == ["db1", "list, line 2"]
    assert [each.report is None for each in found] == [False, True]
    assert servers.sources(str(tmp_path / "list"))[2].name == "h x.json"
