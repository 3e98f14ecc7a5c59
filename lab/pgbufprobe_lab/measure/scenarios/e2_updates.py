"""E2: how do updates scale with the number of clients, with one or ten updates per transaction?"""

from pathlib import Path
from typing import Any

from pgbufprobe_lab.measure import pgbench
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.scenarios.e1_cached_reads import CLIENTS, warm
from pgbufprobe_lab.measure.trial import Step, Trial
from pgbufprobe_lab.sizes import BLOCK, MB

PUBLISHED_SCALE = 7000
PUBLISHED_CLIENTS = (1, 2, 4, 8, 16, 32, 48, 64)
SCALE_BYTES = 19 * MB  # at fillfactor 80, with the index
UPDATES = 10
VARIANT_CLIENTS = 8
VARIANTS = ("simple", "prepared", "repeatable_read", "huge_pages")


def script_text(name: str, accounts: int, isolation: str = "") -> str:
    lines = [f"\\set aid{n} random(1, {accounts})" for n in range(UPDATES)]
    if name == "write10":
        lines.append(f"BEGIN{isolation};")
    lines += [f"UPDATE pgbench_accounts SET filler = 'updated' WHERE aid = :aid{n};" for n in range(UPDATES)]
    if name == "write10":
        lines.append("COMMIT;")
    return "\n".join(lines) + "\n"


def free_huge_pages(meminfo: str) -> int:
    """Returns the bytes in free huge pages."""
    values = {}
    for line in meminfo.splitlines():
        name, _, rest = line.partition(":")
        if rest.split():
            values[name] = int(rest.split()[0])
    return values.get("HugePages_Free", 0) * values.get("Hugepagesize", 0) * 1024


class E2:
    name = "E2"
    asks = "How do updates scale with the number of clients, with one or ten updates per transaction?"
    limited = False
    oldest_major = 15

    def _scale(self, plan: Plan) -> int:
        return max(1, min(plan.profile.update_scale, int(plan.ram * 0.5 / 1.5) // SCALE_BYTES))

    def _pool(self, plan: Plan) -> int:
        return int(self._scale(plan) * SCALE_BYTES * 1.5 + 32 * MB) // BLOCK * BLOCK

    @staticmethod
    def _clients(plan: Plan) -> tuple[int, ...]:
        return PUBLISHED_CLIENTS if plan.profile.name == "published" else CLIENTS

    def _cases(self, plan: Plan, variant: str) -> list[tuple[str, int]]:
        """Returns pairs of a script and a number of clients."""
        if variant == "simple":
            return [(script, clients) for clients in self._clients(plan) for script in ("write1", "write10")]
        scripts = ("write10",) if variant == "repeatable_read" else ("write1", "write10")
        return [(script, VARIANT_CLIENTS) for script in scripts]

    def steps(self, plan: Plan) -> list[Step]:
        variants = list(VARIANTS)
        if free_huge_pages(Path("/proc/meminfo").read_text()) < self._pool(plan) * 1.1:
            variants.remove("huge_pages")
        start = 2 + self._scale(plan) * 0.06
        return [
            Step(
                f"{trial}/{variant}",
                None,
                self._pool(plan),
                trial,
                start + (plan.profile.e_seconds + 0.5) * len(self._cases(plan, variant)),
                {"variant": variant},
            )
            for trial in range(1, plan.runs + 1)
            for variant in variants
        ]

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "scale": self._scale(plan),
            "published_scale": PUBLISHED_SCALE,
            "clients": self._clients(plan),
            "variant_clients": VARIANT_CLIENTS,
            "seconds": plan.profile.e_seconds,
            "fillfactor": 80,
            "updates_a_script": UPDATES,
            "runs": plan.runs,
        }

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading_server() as server:
            server.client("pgbench", "-i", "-I", "dtgvp", "-q", "-F", "80", "-s", str(self._scale(lab.plan)), "lab")

    def measure(self, trial: Trial) -> None:
        variant = trial.args["variant"]
        accounts = self._scale(trial.plan) * 100_000
        settings = {"max_connections": 200, "huge_pages": "on" if variant == "huge_pages" else "off"}
        isolation = " ISOLATION LEVEL REPEATABLE READ" if variant == "repeatable_read" else ""
        # Two clients may update the same row; pgbench retries the transaction that fails.
        options = {"prepared": ["-M", "prepared"], "repeatable_read": ["--max-tries", "100"]}.get(variant, [])
        with trial.server(settings) as server:
            warm(server)
            for name, clients in self._cases(trial.plan, variant):
                script = pgbench.script_file(server, name, script_text(name, accounts, isolation))
                seconds, arguments = trial.plan.profile.e_seconds, [*options, "-f", script]
                pgbench.record(trial, server, clients, seconds, *arguments, script=name, variant=variant)


SCENARIO = E2()
