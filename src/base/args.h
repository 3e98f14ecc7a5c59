/*-------------------------------------------------------------------------
 *
 * args.h
 *	  Arguments of SQL functions: each function returns a valid value or
 *	  raises an error that says which values are valid.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_ARGS_H
#define PBP_ARGS_H

#include "common/relpath.h"
#include "fmgr.h"

extern int	parse_name(FunctionCallInfo fcinfo, int argno, const char *what,
					   const char *const *names, int nnames);
extern int	positive_arg(FunctionCallInfo fcinfo, int argno, const char *what, int max);
extern double fraction_arg(FunctionCallInfo fcinfo, int argno);
extern int	sample_arg(FunctionCallInfo fcinfo, int argno);
extern ForkNumber fork_arg(FunctionCallInfo fcinfo, int argno);
extern int64 duration_arg_ms(FunctionCallInfo fcinfo, int argno);

#endif							/* PBP_ARGS_H */
