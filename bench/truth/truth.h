/*
 * truth.h
 *	  What exact models have found, and how far estimates are from that.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include "storage_model.h"

#define MOST_FIGURES	8192

/* Parts of a trace, each of which has a weight in what is compared. */
#define PARTS			1000

typedef struct Tally
{
	int			nasked;
	int			nknown;
	int			ncovered;
	double		errors[MOST_FIGURES];
	double		widths[MOST_FIGURES];
} Tally;

/* Of many loads: figures, and how much they differ from today's. */
typedef struct Sums
{
	Tally		figures;
	Tally		changes;
} Sums;

/* What an exact model has found; it does not depend on the method. */
typedef struct Truth
{
	char		model[100];		/* the model's parameters, all in one word each */
	double		miss_ratio;		/* NaN: this model has none */
	double		storage_ratio;
	int		   *misses;			/* in each part, if it has both by part; or NULL */
	int		   *waits;			/* for storage */
} Truth;

extern bool quick;				/* only a part of the figures */

/* truth.c */
extern void die(const char *what, const char *name);
extern Truth *find_truth(const char *model);
extern Truth *keep_truth(const char *model, double miss_ratio, double storage_ratio);
extern void make_parts(Truth *truth);
extern void keep_parts(const Truth *truth);
extern void add_compared(const PbpAdvice *advice, PbpCompared ratio, double truth, double today,
						 Tally *tally, Tally *changes);
extern void print_tally(const char *what, const char *load, Tally *tally);
extern void add_all(Tally *sum, const Tally *tally);
extern void add_sums(Sums *sums, const Sums *added);
extern void print_sums(const char *what, const char *time, Sums *sums);
extern void start_probes(void);
extern void calibrate(Run *run);

/* traces.c */
extern void compare_stories(void);
extern void compare_recordings(char **paths, int npaths);

#endif							/* TRUTH_H */
