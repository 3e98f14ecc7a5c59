import sys

from pgbufprobe_lab.cli import main

sys.exit(main())
