# pgbufprobe: make, make install, make installcheck, make prove_installcheck
#
# Another server than the first in PATH: make PG_CONFIG=/path/to/pg_config

PG_CONFIG ?= pg_config

EXTENSION = pgbufprobe
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" pgbufprobe.control)

MODULE_big = pgbufprobe
OBJS = \
	pgbufprobe.o \
	src/descriptors.o \
	src/latency.o \
	src/oscache.o \
	src/poolindex.o \
	src/readcost.o \
	src/residency.o \
	src/sweep.o

DATA = pgbufprobe--1.0.sql
PGFILEDESC = "pgbufprobe - what shared buffers cost"

# The server's headers count as the system's: our warnings are about our code.
PG_CPPFLAGS = -DPBP_VERSION='"$(EXTVERSION)"' -isystem $(includedir_server)

REGRESS = \
	install \
	sweep_cost \
	scan_cost \
	histogram \
	relations \
	clock \
	caches

# Not every server comes with the extension that this compares with.
ifneq ($(wildcard $(shell $(PG_CONFIG) --sharedir)/extension/pg_buffercache.control),)
REGRESS += buffercache
endif

EXTRA_CLEAN = tmp_check

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Each object is rebuilt when a header changes; PGXS tracks none for us.
$(OBJS): src/compat.h src/latency.h src/oscache.h src/pgbufprobe.h

# PGXS has the recipe and no target of its own for it.
.PHONY: prove_installcheck
prove_installcheck:
	$(prove_installcheck)
