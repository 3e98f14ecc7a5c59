# pgbufprobe: make, make install, make installcheck, make prove_installcheck, make dist
#
# Another server than the first in PATH: make PG_CONFIG=/path/to/pg_config

PG_CONFIG ?= pg_config

EXTENSION = pgbufprobe
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(srcdir)/pgbufprobe.control)

MODULE_big = pgbufprobe
OBJS = \
	pgbufprobe.o \
	src/advice.o \
	src/advice_answer.o \
	src/advice_cache.o \
	src/advice_observe.o \
	src/advice_pages.o \
	src/advice_pools.o \
	src/advice_relations.o \
	src/advice_relations_answer.o \
	src/advice_saved.o \
	src/advice_storage.o \
	src/advice_waits.o \
	src/advice_working_set.o \
	src/args.o \
	src/cachefuncs.o \
	src/cachemap.o \
	src/cacherestore.o \
	src/cachetake.o \
	src/capacity.o \
	src/carry.o \
	src/carrybefore.o \
	src/carryextent.o \
	src/carryfile.o \
	src/carryfuncs.o \
	src/carryload.o \
	src/carryprogress.o \
	src/carryrestore.o \
	src/carrysave.o \
	src/cgroup.o \
	src/checkup.o \
	src/checkup_size.o \
	src/costfuncs.o \
	src/datafiles.o \
	src/decision.o \
	src/decisionfuncs.o \
	src/descriptors.o \
	src/estimate.o \
	src/history.o \
	src/latency.o \
	src/learner.o \
	src/look.o \
	src/mapfuncs.o \
	src/newfile.o \
	src/oscache.o \
	src/pagesample.o \
	src/osfile.o \
	src/oskernel.o \
	src/osmemory.o \
	src/ownfiles.o \
	src/poolfuncs.o \
	src/poolindex.o \
	src/prediction_check.o \
	src/prediction_forecast.o \
	src/predictionfuncs.o \
	src/predictions.o \
	src/probing.o \
	src/procfile.o \
	src/readcost.o \
	src/relations.o \
	src/residency.o \
	src/restart.o \
	src/rows.o \
	src/sampler.o \
	src/served.o \
	src/servermemory.o \
	src/serverstats.o \
	src/shutdown.o \
	src/sizefuncs.o \
	src/snapshot.o \
	src/snapshotfuncs.o \
	src/statefile.o \
	src/stateformat.o \
	src/sweep.o \
	src/words.o \
	src/workloadfuncs.o

# Every version that was ever shipped, and every way from one to the next.
DATA = $(notdir $(wildcard $(srcdir)/pgbufprobe--*.sql))
PGFILEDESC = "pgbufprobe - what shared buffers cost"

# The server's headers count as the system's: our warnings are about our code.
PG_CPPFLAGS = -DPBP_VERSION='"$(EXTVERSION)"' -isystem $(includedir_server)

# The files stand alone, so that their order does not matter. One compares with an extension that not every server has.
REGRESS = $(filter-out $(LEFT_OUT),$(sort $(basename $(notdir $(wildcard $(srcdir)/sql/*.sql)))))
ifeq ($(wildcard $(shell $(PG_CONFIG) --sharedir)/extension/pg_buffercache.control),)
LEFT_OUT = buffercache
endif

EXTRA_CLEAN = tmp_check

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Each object is rebuilt when a header changes; PGXS tracks none for us.
$(OBJS): $(wildcard $(srcdir)/src/*.h)

# Built outside the source tree, as packages are, there is no src/ yet; in full,
# or make would take that of the source tree for it.
$(OBJS) $(OBJS:.o=.bc): | $(CURDIR)/src
$(CURDIR)/src:
	$(MKDIR_P) $@

# PGXS has the recipe and no target of its own for it.
override PROVE_FLAGS += -I t/perl
.PHONY: prove_installcheck
prove_installcheck:
	$(prove_installcheck)

# The archive for PGXN: what is committed, and nothing else, named as PGXN wants it.
.PHONY: dist
dist:
	set -e; \
	name=$$(git show HEAD:META.json | perl -MJSON::PP -0777 -e \
		'my $$meta = decode_json(<STDIN>); print "$$meta->{name}-$$meta->{version}"'); \
	git archive --format=zip --prefix="$$name/" --output="$$name.zip" HEAD; \
	echo "$$name.zip"
