"""Run by report/run."""

import sys

from pgbufprobe_report.cli import main

sys.exit(main())
