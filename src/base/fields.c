/*-------------------------------------------------------------------------
 *
 * fields.c
 *	  Structs as lists of values, each of which is checked when it is read.
 *
 * What is written is not checked: a value that was wrong then is left out by the
 * next start, and keeps nothing else from being saved.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/fields.h"

typedef union Value
{
	int64		number;
	double		real;
} Value;

/* Returns false if the value is impossible. */
typedef bool (*Visitor) (void *arg, const PbpField *field, char *item);

static const char *
visit_fields(const PbpField *field, char *owner, Visitor visit, void *arg)
{
	for (; field->name != NULL; field++)
		for (int i = 0; i < field->nitems; i++)
		{
			char	   *item = owner + field->offset + i * field->item_bytes;
			const char *wrong;

			if (field->type != PBP_STRUCT)
			{
				if (!visit(arg, field, item))
					return field->name;
				continue;
			}
			wrong = visit_fields(field->fields, item, visit, arg);
			if (wrong != NULL)
				return psprintf("%s.%s", field->name, wrong);
		}
	return NULL;
}

static bool
is_real(const PbpField *field)
{
	return field->type == PBP_REAL || field->type == PBP_REAL_OR_NAN;
}

static bool
is_possible(const PbpField *field, Value value)
{
	double		number = is_real(field) ? value.real : (double) value.number;

	if (isnan(number))
		return field->type == PBP_REAL_OR_NAN;
	return number >= field->min && number <= field->max;
}

/* ---- layout ---- */

static bool
add_bytes(void *arg, const PbpField *field pg_attribute_unused(), char *item pg_attribute_unused())
{
	*(Size *) arg += sizeof(Value);
	return true;
}

/* The bytes of a struct in a file. */
Size
pbp_fields_bytes(const PbpField *fields)
{
	Size		bytes = 0;

	(void) visit_fields(fields, unconstify(char *, (const char *) fields), add_bytes, &bytes);
	return bytes;
}

static bool
add_to_layout(void *arg, const PbpField *field, char *item pg_attribute_unused())
{
	uint32	   *layout = arg;

	for (const char *c = field->name; *c != '\0'; c++)
		*layout = (*layout ^ (unsigned char) *c) * UINT32_C(0x01000193);
	*layout = (*layout ^ (uint32) field->type) * UINT32_C(0x01000193);
	return true;
}

/* Differs if the names, types or order of the values do. */
uint32
pbp_fields_layout(const PbpField *fields)
{
	uint32		layout = 0;

	(void) visit_fields(fields, unconstify(char *, (const char *) fields), add_to_layout, &layout);
	return layout;
}

/* ---- writing ---- */

static Value
value_of(const PbpField *field, const char *item)
{
	bool		is_signed = field->type == PBP_SIGNED;
	Value		value;

	if (is_real(field) && field->item_bytes == sizeof(float))
		value.real = *(const float *) item;
	else if (is_real(field))
		memcpy(&value.real, item, sizeof(double));
	else if (field->item_bytes == sizeof(int64))
		memcpy(&value.number, item, sizeof(int64));
	else if (field->item_bytes == sizeof(int32))
		value.number = is_signed ? *(const int32 *) item : (int64) *(const uint32 *) item;
	else
		value.number = *(const uint8 *) item;
	return value;
}

/* Values are put into a file together, which is faster. */
typedef struct FieldWriter
{
	PbpNewFile *file;
	int			nvalues;
	Value		values[64];
} FieldWriter;

static void
put_values(FieldWriter *writer)
{
	pbp_put_in_new_file(writer->file, writer->values, writer->nvalues * sizeof(Value));
	writer->nvalues = 0;
}

static bool
put_value(void *arg, const PbpField *field, char *item)
{
	FieldWriter *writer = arg;

	writer->values[writer->nvalues++] = value_of(field, item);
	if (writer->nvalues == lengthof(writer->values))
		put_values(writer);
	return true;
}

void
pbp_put_fields(PbpNewFile *file, const PbpField *fields, const void *item)
{
	FieldWriter writer;

	writer.file = file;
	writer.nvalues = 0;
	(void) visit_fields(fields, unconstify(char *, (const char *) item), put_value, &writer);
	put_values(&writer);
}

/* ---- reading ---- */

static bool
get_value(void *arg, const PbpField *field, char *item)
{
	PbpFieldReader *reader = arg;
	Value		value;

	if (reader->end - reader->next < (ptrdiff_t) sizeof(value))
		return false;
	memcpy(&value, reader->next, sizeof(value));
	reader->next += sizeof(value);
	if (!is_possible(field, value))
		return false;
	if (field->item_bytes == sizeof(Value))
		memcpy(item, &value, sizeof(value));
	else if (is_real(field))
		*(float *) item = (float) value.real;
	else if (field->item_bytes == sizeof(uint32))
		*(uint32 *) item = (uint32) value.number;
	else
		*(uint8 *) item = (uint8) value.number;
	return true;
}

const char *
pbp_get_fields(PbpFieldReader *reader, const PbpField *fields, void *item)
{
	const char *begin = reader->next;
	const char *wrong = visit_fields(fields, item, get_value, reader);

	if (wrong != NULL)
		reader->next = begin + Min((Size) (reader->end - begin), pbp_fields_bytes(fields));
	return wrong;
}
