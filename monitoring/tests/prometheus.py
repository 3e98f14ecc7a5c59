"""A Prometheus that scrapes given series each second, and runs the rules."""

import contextlib
import http.server
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[1] / "prometheus"


def serve(exposition):
    """Starts an exporter, whose text is made for so many seconds since its start."""
    began = time.monotonic()

    class Exporter(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write("".join(exposition(time.monotonic() - began)).encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def prometheus(folder, exposition):
    """Yields the address of Prometheus, and of the exporter, which is the label instance unless the series have one."""
    if not shutil.which("prometheus"):
        pytest.skip("Debian's package prometheus is not installed")
    exporter = serve(exposition)
    target = {"targets": [f"127.0.0.1:{exporter.server_port}"], "labels": {"cluster": "main"}}
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(FOLDER / "rules.yml")],
        "scrape_configs": [{"job_name": "postgres", "honor_labels": True, "static_configs": [target]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    command += [
        f"--web.listen-address={address}",
        f"--web.console.templates={FOLDER}",
        f"--web.console.libraries={folder}",
    ]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield address, target["targets"][0]
    finally:
        server.terminate()
        server.wait()
        exporter.shutdown()


def get(url):
    """Returns the text at an address; nothing while the program starts."""
    with contextlib.suppress(urllib.error.URLError, ConnectionError):
        with urllib.request.urlopen(url) as reply:
            return reply.read().decode()
    return ""
