# pgbufprobe: make, make install, make installcheck, make prove_installcheck, make unitcheck, make dist
#
# Another server than the first in PATH: make PG_CONFIG=/path/to/pg_config

PG_CONFIG ?= pg_config

EXTENSION = pgbufprobe
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(srcdir)/pgbufprobe.control)

MODULE_big = pgbufprobe
OBJS = pgbufprobe.o $(patsubst $(srcdir)/%.c,%.o,$(wildcard $(srcdir)/src/*/*.c))

# Every version that was ever shipped, and every way from one to the next.
DATA = $(notdir $(wildcard $(srcdir)/pgbufprobe--*.sql))
PGFILEDESC = "pgbufprobe - what shared buffers cost"

# The server's headers count as the system's: our warnings are about our code.
PG_CPPFLAGS = -DPBP_VERSION='"$(EXTVERSION)"' -I$(srcdir)/src -isystem $(includedir_server)

# Other libraries in the server may have functions of the same names. From 16 on, PGXS does the same.
PG_CFLAGS = -fvisibility=hidden -DPGDLLEXPORT='__attribute__((visibility("default")))'

# The files stand alone, so that their order does not matter. One compares with an extension that not every server has.
REGRESS = $(filter-out $(LEFT_OUT),$(sort $(basename $(notdir $(wildcard $(srcdir)/sql/*.sql)))))
ifeq ($(wildcard $(shell $(PG_CONFIG) --sharedir)/extension/pg_buffercache.control),)
LEFT_OUT = buffercache
endif

EXTRA_CLEAN = tmp_check t/unit/programs

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Each object is rebuilt when a header changes; PGXS tracks none for us.
$(OBJS): $(wildcard $(srcdir)/src/*/*.h)

# Built outside the source tree, as packages are, there are no folders yet; in full,
# or make would take those of the source tree for them.
FOLDERS = $(addprefix $(CURDIR)/,$(sort $(dir $(OBJS))))
$(OBJS) $(OBJS:.o=.bc): | $(FOLDERS)
$(FOLDERS):
	$(MKDIR_P) $@

# PGXS has the recipe and no target of its own for it.
override PROVE_FLAGS += -I t/perl
.PHONY: prove_installcheck
prove_installcheck:
	$(prove_installcheck)

.PHONY: unitcheck
unitcheck:
	$(MAKE) -C $(srcdir)/t/unit check

# The archive for PGXN: what is committed, and nothing else, named as PGXN wants it.
.PHONY: dist
dist:
	set -e; \
	name=$$(git show HEAD:META.json | perl -MJSON::PP -0777 -e \
		'my $$meta = decode_json(<STDIN>); print "$$meta->{name}-$$meta->{version}"'); \
	git archive --format=zip --prefix="$$name/" --output="$$name.zip" HEAD; \
	echo "$$name.zip"
