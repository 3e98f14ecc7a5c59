/*-------------------------------------------------------------------------
 *
 * ownfiles.h
 *	  How large are the files of this server, and how much of the page cache do
 *	  they hold?
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_OWNFILES_H
#define PBP_OWNFILES_H

typedef struct PbpOwnFiles PbpOwnFiles;

extern PbpOwnFiles *pbp_create_own_files(void);
extern void pbp_count_own_files(PbpOwnFiles *own, int64 budget_ns);
extern int64 pbp_own_file_bytes(const PbpOwnFiles *own);
extern int64 pbp_data_bytes(const PbpOwnFiles *own);
extern int64 pbp_wal_bytes(const PbpOwnFiles *own);

#endif							/* PBP_OWNFILES_H */
