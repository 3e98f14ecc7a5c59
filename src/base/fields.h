/*-------------------------------------------------------------------------
 *
 * fields.h
 *	  What is saved of a struct: its fields, each with the values that it may
 *	  have, which are checked when they are read back.
 *
 * Each value takes eight bytes in a file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_FIELDS_H
#define PBP_FIELDS_H

#include "base/newfile.h"

typedef enum PbpFieldType
{
	PBP_SIGNED,
	PBP_UNSIGNED,				/* also bool and enums */
	PBP_REAL,					/* float or double */
	PBP_REAL_OR_NAN,
	PBP_STRUCT
} PbpFieldType;

typedef struct PbpField
{
	const char *name;			/* NULL: the end of a list */
	PbpFieldType type;
	size_t		offset;
	size_t		item_bytes;
	int			nitems;			/* more than one in an array */
	double		min;
	double		max;
	const struct PbpField *fields;	/* of a struct */
} PbpField;

#define PBP_FIELD(type, owner, member, min, max) \
	{#member, type, offsetof(owner, member), sizeof(((owner *) NULL)->member), 1, min, max, NULL}
#define PBP_STRUCT_FIELD(owner, member, fields) \
	{#member, PBP_STRUCT, offsetof(owner, member), sizeof(((owner *) NULL)->member), 1, 0, 0, fields}
#define PBP_ARRAY_FIELD(type, owner, member, min, max, fields) \
	{#member, type, offsetof(owner, member), sizeof(((owner *) NULL)->member[0]), \
	(int) lengthof(((owner *) NULL)->member), min, max, fields}

#define PBP_END_OF_FIELDS	{NULL, PBP_SIGNED, 0, 0, 0, 0, 0, NULL}

/* Limits: what a server can count, and what can be a time. */
#define PBP_MANY			1e15
#define PBP_MAX_BYTES		1e18
#define PBP_FIRST_TIME		(-6.3e16)	/* in the year 3, since a clock may be wrong */
#define PBP_LAST_TIME		2.5e17	/* in the year 9922 */
#define PBP_MAX_RATIO		1.000001	/* rounded */

/* Values that are still to be read. */
typedef struct PbpFieldReader
{
	const char *next;
	const char *end;
} PbpFieldReader;

extern Size pbp_fields_bytes(const PbpField *fields);
extern uint32 pbp_fields_layout(const PbpField *fields);

extern void pbp_put_fields(PbpNewFile *file, const PbpField *fields, const void *item);

/*
 * Returns NULL, or the name of the first field whose value is impossible; the
 * struct has no meaning then, and what comes next is read behind it.
 */
extern const char *pbp_get_fields(PbpFieldReader *reader, const PbpField *fields, void *item);

#endif							/* PBP_FIELDS_H */
