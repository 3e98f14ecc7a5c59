"""Connection strings, which may contain a password. No name or message that is made here repeats one."""

from __future__ import annotations

import re

import psycopg
from psycopg.conninfo import conninfo_to_dict

# libpq's own message repeats what it cannot parse.
WRONG = "not a connection string: escape special characters of a URI, such as %40 for @, and quote values with spaces"


def _mixed_up(dsn: str, found: dict[str, str]) -> bool:
    """True if a part of a password may have become another value, which names and libpq's messages repeat."""
    uri = re.match(r"postgres(?:ql)?://(.*)", dsn, re.DOTALL)
    # libpq takes what follows the first "@", or a "/" before it, for host and database.
    if uri and "@" in uri[1] and not re.fullmatch(r"[^@/]*@[^@]*", uri[1]):
        return True
    host, port = (found.get(key, "") for key in ("host", "port"))
    others = " ".join(found.get(key, "") for key in ("host", "hostaddr", "dbname", "user", "service"))
    return bool(re.search(r"=|://", others) or re.search(r"(?:^|,)[^/@,][^,]*@", host) or re.search(r"[^\d,]", port))


def understood(dsn: str) -> dict[str, str]:
    """Returns the values of a connection string. Raises ValueError, with a message that may be shown."""
    try:
        found = {key: str(value) for key, value in conninfo_to_dict(dsn).items() if value is not None}
    except (psycopg.Error, ValueError):
        raise ValueError(WRONG) from None
    if _mixed_up(dsn, found):
        raise ValueError(WRONG)
    return found


def may_be_one(text: str) -> bool:
    """Returns whether what should be a file's name may be a connection string, and must not be repeated."""
    return re.search(r"[=@]|://", text) is not None


def named(found: dict[str, str]) -> str:
    """Returns the name of a server."""
    if service := found.get("service"):
        return service
    place = found.get("host") or found.get("hostaddr") or "local"
    port, database = found.get("port"), found.get("dbname")
    return place + (f":{port}" if port else "") + (f" {database}" if database else "")
