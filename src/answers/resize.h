/*-------------------------------------------------------------------------
 *
 * resize.h
 *	  Statements that set shared_buffers and prepare the restart.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_RESIZE_H
#define PBP_RESIZE_H

extern char *resize_action(int64 buffers);

#endif							/* PBP_RESIZE_H */
