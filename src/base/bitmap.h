/*-------------------------------------------------------------------------
 *
 * bitmap.h
 *	  An array of bits, one per block or per buffer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_BITMAP_H
#define PBP_BITMAP_H

#define PBP_BITMAP_BYTES(bits)	(((Size) (bits) + 7) / 8)

static inline bool
pbp_bit_is_set(const uint8 *bitmap, int64 bit)
{
	return (bitmap[bit / 8] >> (bit % 8)) & 1;
}

static inline void
pbp_set_bit(uint8 *bitmap, int64 bit)
{
	bitmap[bit / 8] |= 1 << (bit % 8);
}

#endif							/* PBP_BITMAP_H */
