/*-------------------------------------------------------------------------
 *
 * startfuncs.h
 *	  What to do where no sampler is running.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_STARTFUNCS_H
#define PBP_STARTFUNCS_H

#define NO_SAMPLER			"nothing watches this server, because no sampler is running"
#define HOW_TO_START		"SELECT pgbufprobe_start() starts one without a restart"

extern const char *start_action(Oid neighbor, const char *otherwise);

#endif							/* PBP_STARTFUNCS_H */
