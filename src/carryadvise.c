/*-------------------------------------------------------------------------
 *
 * carryadvise.c
 *	  Asks the kernel to read the blocks of a file that only the page cache held
 *	  before the restart.
 *
 * Needs no database and takes no lock.  A file that has got another relation's
 * pages meanwhile, which is rare, is read in vain.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "cacherestore.h"
#include "carry.h"
#include "carryfile.h"
#include "carryprogress.h"
#include "oscache.h"

/* advised at a time, and between two waits for the rate */
#define ADVICE_BLOCKS		128

/* Blocks that the kernel has already do not count against the rate. */
static bool
advise_blocks(PbpCarryPace *pace, const PbpOsFile *file, int64 first, int64 nblocks)
{
	uint8		bitmap[PBP_BITMAP_BYTES(ADVICE_BLOCKS)];
	PbpOsBlocks cached = {0};
	int64		missing;

	if (file->trust == PBP_OS_TRUSTED)
		pbp_os_map(file, (BlockNumber) first, (BlockNumber) nblocks, bitmap, &cached);
	missing = nblocks - cached.cached;
	if (missing > 0)
		pbp_os_want(file, (BlockNumber) first, (BlockNumber) nblocks);
	pbp_carry_lock()->read += missing;
	pbp_carry_unlock();
	pbp_carry_keep_pace(pace, missing);
	return pbp_carry_goes_on();
}

static bool
advise_run(PbpCarryPace *pace, const PbpOsFile *file, int64 first, int64 end)
{
	bool		goes_on = true;

	end = Min(end, file->bytes / BLCKSZ);
	for (; goes_on && first < end; first += ADVICE_BLOCKS)
		goes_on = advise_blocks(pace, file, first, Min(ADVICE_BLOCKS, end - first));
	return goes_on;
}

/*
 * Advises of runs of blocks that the page cache held, which go on over blocks
 * that are in shared buffers by now, and so in the page cache.
 */
static bool
advise_file(PbpCarryPace *pace, const PbpOsFile *file, const uint8 *map, Size bytes)
{
	PbpMapReader reader;
	PbpMapRun	run;
	int64		block = 0;
	int64		first = 0;
	bool		only_os = false;	/* has the run a block of the page cache only? */
	bool		goes_on = true;

	pbp_map_read(&reader, map, bytes);
	while (goes_on && pbp_map_next(&reader, &run))
	{
		if (!pbp_map_os(run.state))
		{
			if (only_os)
				goes_on = advise_run(pace, file, first, block);
			only_os = false;
			first = block + (int64) run.nblocks;
		}
		else if (pbp_map_level(run.state) == 0)
			only_os = true;
		block += (int64) run.nblocks;
	}
	if (goes_on && only_os)
		goes_on = advise_run(pace, file, first, block);
	return goes_on;
}

/* The file of the entry that is there.  False: the restore was stopped. */
bool
pbp_carry_advise(PbpCarryReader *reader, int64 entry_at, PbpCarryPace *pace)
{
	PbpCarryEntry entry;
	PbpLocator	locator;
	PbpRestore	check;
	const uint8 *map;
	PbpOsFile	file;
	bool		goes_on = true;

	reader->next = entry_at;
	if (!pbp_carry_next(reader, &entry) || (map = pbp_carry_map(reader, &entry)) == NULL ||
		pbp_restore_begin(&check, map, entry.map_bytes, PBP_RESTORE_OS_CACHE) != NULL)
		return true;
	locator = pbp_locator(entry.tablespace, entry.database, entry.relfilenode);
	if (pbp_os_open(&locator, (ForkNumber) entry.fork, (int) entry.segment, PBP_OS_AUTO, &file))
	{
		if (pbp_can_advise(&file))
			goes_on = advise_file(pace, &file, map, entry.map_bytes);
		pbp_os_close(&file);
	}
	return goes_on;
}
