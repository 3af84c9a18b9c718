/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Adaptive read-ahead: what to read ahead of a file, and why.
 *
 * This is arithmetic on page numbers. It has no lock, no allocation, no clock
 * and no page cache: whoever calls it brings them. The same file is compiled
 * into the kernel and into a test in user space.
 *
 * All lengths are in pages, all ends are exclusive. A structure whose bytes
 * are all zero is one that nothing is known of.
 */
#ifndef _MM_READAHEAD_CORE_H
#define _MM_READAHEAD_CORE_H

#include <linux/types.h>

/* Streams of a file that has few, and of one that has many. */
#define RA_STREAMS_FEW		4
#define RA_STREAMS_MANY		64

/* Pages of the longest possible file; accesses beyond belong to no stream. */
#define RA_PAGES_MAX		0x8000000000000ULL

/* Runs whose lengths are remembered, and accesses that nothing explained. */
#define RA_REMEMBERED		8

/* How the accesses of a stream follow each other. */
enum ra_shape {
	RA_VACANT,	/* a free place in the table */
	RA_CANDIDATE,	/* one access that nothing explained */
	RA_RUN,		/* each begins where the last one ended, more or less */
	RA_SHUFFLED,	/* a run whose accesses come out of order */
	RA_SPARSE,	/* a run that leaves out more than one page of eight */
	RA_STRIDED,	/* a fixed length every fixed period */
};

/* Why something is asked for, or nothing. */
enum ra_reason {
	RA_NOT_LOOKED_AT,
	RA_MARKER_NOT_REACHED,
	RA_STREAM_BEGAN,
	RA_MARKER_CROSSED,
	RA_READER_WAITED,
	RA_NO_PATTERN,
	RA_RANDOM_READS,
	RA_HIT_RATE_LIMIT,
	RA_MEMORY_SHORT,
	RA_ALREADY_CACHED,
	RA_END_OF_FILE,
	RA_THRASHED,
	RA_TURNED_OFF,
	RA_LEFT_TO_STOCK,
	RA_REOPENED,
	RA_RUN_ENDS,
	RA_READS_ARE_LONG,
	RA_DOES_NOT_PAY,
};

/**
 * struct ra_stream - a run of accesses that one shape explains
 * @next: where the next access is expected, in reading order
 * @frontier: the first place that has not been asked for
 * @tail: what lies behind the marker: pages, or elements of a strided stream;
 *	of a stride that has not asked, how many came in a row
 * @step: from the start of one access to that of the next one; the period
 * @pace_place: where the stream asked last, wrapping; where a stride that
 *	has not is timed from
 * @pace_moment: when it was there, in units of 1024 ns, wrapping; both 0:
 *	nothing is timed
 * @began: where the run began, wrapping; pages of an element if strided
 * @length: pages of the newest access
 * @request: pages of the next request; 0 before the first
 * @last_used: the access count of the file when the stream moved last
 * @held: pages read, recently
 * @spanned: pages read or passed over, recently
 * @hits: accesses that continued the stream
 * @disorder: how much of the recent past came out of order
 * @regular: steps in a row with the same period and length; of a strided
 *	stream, elements that came where they were expected
 * @shape: an &enum ra_shape
 * @backward: the stream goes towards the start of the file
 * @successor: the stream that was touched after this one the last time
 * @served: what came of its requests
 * @generation: which stream of its place this is
 *
 * Places count in reading order: those of a backward stream are counted from
 * the far end, so that every stream goes up.
 */
struct ra_stream {
	u64 next;
	u64 frontier;
	u32 tail;
	u32 step;
	u32 pace_place;
	u32 pace_moment;
	u32 began;
	u16 length;
	u16 request;
	u32 last_used;
	u16 held;
	u16 spanned;
	u8 hits;
	u8 disorder;
	u8 regular;
	u8 shape;
	u8 backward;
	u8 successor;
	u8 served;
	u8 generation;
};

/* An access that no stream explained. */
struct ra_unexplained {
	u64 start;
	u32 length;
};

/**
 * struct ra_history - what is known of a file beside its streams
 * @tick: accesses so far, wrapping: the clock of the file
 * @debt: pages owed to readahead_hit_rate
 * @rounds_seen: when streams read in turn were last taken for a stride, or 0
 * @last_busy: when accesses last waited, or asked the device for pages
 * @last_wait: when an access last waited
 * @thrash_pages: more unread pages than this were evicted; 0: never
 * @scan_request: the request of a scan from page 0, for the next one
 * @unexplained_run: accesses in a row that no stream explained
 * @last: the stream of the newest access
 * @evictions: candidates that were pushed out unused
 * @wasted: pages given up unread, ever
 * @run_pages: lengths of the newest runs that ended
 * @run_newest: the newest of them
 * @run_known: how many of them are known
 * @run_doubted: a run began where others had stopped
 * @stray_place: the stream in whose window the newest stray lies
 * @stray_count: strays in a row
 * @stray_pages: their pages
 * @stray_tick: when the newest was
 * @stray_next: where the next one would begin
 * @stride_doublings: how often what a stride has to show was doubled
 * @recent_newest: the newest of @recent
 * @row_place: the strided stream that is read in rows, if it is
 * @row_alike: rows in a row that had as many elements
 * @row_equal: gaps in a row that were as large
 * @row_next: where the next row is, seen from the last one
 * @row_elements: how many elements the newest row that ended had
 * @row_come: elements that have come of the row that is read
 * @row_step: its period; 0: no stride was seen
 * @row_gap: from where another element of a row would be to the first one of
 *	the next row, in reading order
 * @columns_together: columns that the newest wide elements are as wide as
 * @columns_come: how many of them have begun
 * @columns_next: as many as together, of elements asked for of the next row
 * @columns_before: columns of the band before the one that is read
 * @columns_of_band: columns of a band that the next one follows; 0: not known
 * @recent: the newest accesses that no stream explained
 */
struct ra_history {
	u32 tick;
	u32 debt;
	u32 rounds_seen;
	u32 last_busy;
	u32 last_wait;
	u32 thrash_pages;
	u32 scan_request;
	u16 unexplained_run;
	u8 last;
	u8 evictions;
	u64 wasted;
	u32 run_pages[RA_REMEMBERED];
	u8 run_newest;
	u8 run_known;
	bool run_doubted;
	u8 stray_place;
	u8 stray_count;
	u8 stride_doublings;
	u8 recent_newest;
	u8 row_place;
	u8 row_alike;
	u8 row_equal;
	u8 row_next;
	u16 row_elements;
	u16 row_come;
	u32 row_step;
	s64 row_gap;
	u8 columns_together;
	u8 columns_come;
	u8 columns_next;
	u8 columns_before;
	u8 columns_of_band;
	u32 stray_pages;
	u32 stray_tick;
	u64 stray_next;
	struct ra_unexplained recent[RA_REMEMBERED];
};

/* Faults that are remembered by their places. */
#define RA_FAULTS		16

/* The window that a fault has around it in the stock algorithm. */
#define RA_AROUND_PAGES		32

/**
 * struct ra_faults - the newest faults of a file that missed
 * @pages: where they were
 * @count: how many there were, as far as they are counted
 * @near: a bit for each of the last: it was near one of those before
 * @total: how many there were, ever
 * @windows: windows that were brought in on trial
 */
struct ra_faults {
	u64 pages[RA_FAULTS];
	u8 count;
	u16 near;
	u32 total;
	u32 windows;
};

/**
 * struct ra_device - an estimate of a device
 * @access_ns: time of one isolated small read
 * @bytes_per_second: of one long read
 * @depth: requests that are served at the same time with gain, at least 1
 */
struct ra_device {
	u64 access_ns;
	u64 bytes_per_second;
	u32 depth;
};

/**
 * struct ra_moment - what holds at the moment of an access
 * @ratio: vm.readahead_ratio; 0: nothing, 1: stock, else a window is so many
 *	per cent of the thrashing threshold
 * @hit_rate: vm.readahead_hit_rate: pages read ahead for each accessed page
 * @request_max: the largest request
 * @device: the device under the file
 * @file_pages: pages of the file
 * @threshold: pages that a reader can leave unread before reclaim takes them
 * @available: pages of memory that no window uses
 * @streams: streams that have a window, this one included, at least 1
 * @contested: others made the device move since this stream asked last
 * @sequential: the program said that it reads the file from front to back
 */
struct ra_moment {
	u32 ratio;
	u32 hit_rate;
	u64 request_max;
	struct ra_device device;
	u64 file_pages;
	u64 threshold;
	u64 available;
	u32 streams;
	bool contested;
	bool sequential;
};

/* The pages of an access, or of an element. */
struct ra_range {
	u64 start;
	u64 end;
};

/* No stream. */
#define RA_NO_STREAM		0xff

/**
 * struct ra_decision - what to do about an access
 * @first: pages to bring in, or the first of several ranges of that length
 * @period: from the start of one range to that of the next one
 * @count: how many ranges; 0: nothing is asked for
 * @reason: an &enum ra_reason
 * @stream: the stream of the access, or RA_NO_STREAM
 * @generation: which stream of its place that is
 * @covered: the access had been asked for
 * @backward: the stream goes towards the start of the file
 * @has_mark: @mark is valid
 * @mark: the page whose access asks for more
 */
struct ra_decision {
	struct ra_range first;
	s64 period;
	u32 count;
	u8 reason;
	u8 stream;
	u8 generation;
	bool covered;
	bool backward;
	bool has_mark;
	u64 mark;
};

bool ra_core_quick(struct ra_history *file, struct ra_stream *streams,
		   unsigned int places, struct ra_range access);
u64 ra_core_quiet(const struct ra_history *file,
		  const struct ra_stream *streams, unsigned int places,
		  struct ra_range access);
void ra_core_catch_up(struct ra_history *file, struct ra_stream *streams,
		      unsigned int places, u64 next);
void ra_core_access(struct ra_history *file, struct ra_stream *streams,
		    unsigned int places, struct ra_range access, u64 now_ns,
		    const struct ra_moment *moment,
		    struct ra_decision *decision);
struct ra_range ra_core_touch(const struct ra_stream *streams,
			      unsigned int places, u64 page, bool marked,
			      u64 around);
bool ra_core_around(struct ra_faults *faults, u64 page,
		    const struct ra_device *device, u64 file_pages,
		    u64 spare_pages);
void ra_core_wait(struct ra_history *file, struct ra_stream *streams,
		  unsigned int places, const struct ra_decision *decision,
		  struct ra_range access);
void ra_core_answer(struct ra_history *file, struct ra_stream *streams,
		    unsigned int places, const struct ra_decision *decision,
		    bool was_cached);
void ra_core_refused(struct ra_stream *streams, unsigned int places,
		     const struct ra_decision *decision);
void ra_core_thrashed(struct ra_history *file, struct ra_stream *streams,
		      unsigned int places, const struct ra_decision *decision,
		      u32 evicted);
bool ra_core_crowded(const struct ra_history *file);
#ifndef __KERNEL__
void ra_core_idle(struct ra_history *file, struct ra_stream *streams,
		  unsigned int places);
u32 ra_core_windows(const struct ra_stream *streams, unsigned int places,
		    u64 *unread);
#endif

#endif /* _MM_READAHEAD_CORE_H */
