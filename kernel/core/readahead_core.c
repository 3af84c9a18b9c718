// SPDX-License-Identifier: GPL-2.0
/*
 * Adaptive read-ahead: what to read ahead of a file, and why.
 *
 * A file has a small table of streams. An access goes to the stream that
 * expected it; what no stream expected becomes a candidate, and two
 * candidates that touch, or three that are evenly spaced, become a stream.
 * Several scans over one descriptor, a parallel server whose requests arrive
 * shuffled, and a scan with random lookups in between are each seen for what
 * they are. Direction is a mirror for page numbers, so nothing exists twice.
 *
 *  run       already read #####|-----------|--- tail ---|  not asked for
 *                              ^next       ^marker      ^frontier
 *  strided   places are first pages of elements; the tail counts elements
 *
 * A stream that is trusted asks for a request, and for the next one when the
 * reader reaches the first page of the newest (the marker). Requests double
 * up to what the device needs: enough to cover an access where the stream has
 * the device to itself, and nine parts of transfer for one of positioning
 * where each request has to be positioned for. A reader that is slow of its
 * own accord gets no more than it can use; a percentage (readahead_ratio) of
 * the pages that it can leave unread before reclaim takes them is the limit.
 *
 * Pages that were given up unread and holes that were read through are a
 * debt. Each accessed page pays readahead_hit_rate pages of it, or one less
 * when it was read ahead itself. A file in debt gets nothing. Random accesses
 * ask for nothing.
 */
#include <linux/math64.h>
#include <linux/types.h>

#include "readahead_core.h"

#define PAGE_BYTES		4096ULL

/* Requests: first, least of a learned stream, worth a call. */
#define FIRST_REQUEST_PAGES	32U
#define REQUEST_PAGES_MIN	64U
#define REQUEST_PAGES_WORTH	4U
#define THRASHED_REQUEST_PAGES	4U
#define SCAN_AGAIN_PAGES_MAX	256U
#define GROWN_PAGES_MAX		65536U

/* Growth far below the limit, near it, after a wait, after SEQUENTIAL. */
#define GROWTH_SMALL		4U
#define GROWTH_LARGE		2U
#define WAIT_FACTOR		2U
#define SEQUENTIAL_FACTOR	2U
#define SATURATED_PARTS		8U
#define SATURATED_PARTS_OF_ARM	32U

/* What a device needs: see efficient_request() and pipeline_request(). */
#define TRANSFER_PARTS		9U
#define PIPELINE_ACCESSES	2U
#define SLOW_ACCESS_NS		2000000U
#define ACCESSES_AHEAD		8U
#define ACCESSES_SPARED		1U
#define ENOUGH_PARTS		16U
#define ELEMENTS_LOOKED_AT	64U
#define ELEMENTS_OF_BEGIN	4U
#define SHUFFLED_TIMES		5U
#define HOLE_PARTS		2U

/* When a stream is believed. */
#define YOUNG_GAP_PAGES		32U
#define REORDER_PAGES		128U
/* As late as that comes what a run with holes, or out of order, left out. */
#define LATE_PAGES		1024U
#define ESTABLISHED_HITS	4U
#define HOLE_OF_RUN_PAGES	32U
#define ACCESSES_OF_BEGIN	2U
#define DOUBTFUL_HITS		8U
#define STRIDED_HITS		3U
#define REGULAR_STEPS		6U
/* Steps of more pages are none that the kernel reads through. */
#define SHORT_STEP_PAGES	7
#define RANDOM_RUN		64U
#define CALM_ACCESSES		1024U
#define ROUNDS_REMEMBERED	65536U
#define ROUNDS_MISSED		3U
#define STRAYS_MAX		4U
#define WAITS_TOGETHER		64U
#define CROWDED_EVICTIONS	8U
#define STALE_ROUNDS		16U
#define STALE_ROUNDS_STRIDED	2U

/* Most steps that need not be shown: a stream is not stale before it is shown. */
#define QUIET_STEPS		(RA_STREAMS_FEW * STALE_ROUNDS)

/* Shuffled and sparse runs. */
#define LATE_COUNTS		2U
#define DISORDER_SHUFFLED	8U
#define DISORDER_MAX		64U
#define DENSITY_HISTORY_PAGES	8192U
#define DENSE_EIGHTHS		7U

/* Strides. */
#define ELEMENTS_MIN		8U
#define ELEMENTS_MAX		256U
#define ELEMENTS_MIN_PAGES	256U
#define ELEMENTS_FEWEST		2U
#define SKIPPED_ELEMENTS_MAX	4U
#define PERIOD_MAX		0x80000000ULL
#define DOUBLINGS_MAX		4U
#define ELEMENTS_SEEN		3U
/*
 * Set in the step of a run whose reads are elements of several strides in turn,
 * as two fields of each record are: the rest of it is their period.
 */
#define STEP_IN_TURN		0x80000000U
#define PERIOD_IN_TURN_MAX	0x80000U
/*
 * Elements in a row of a wide stride that may be a round over streams: as many
 * as there can be, and those that a new one is said to have.
 */
#define ROUND_MOST		(RA_STREAMS_MANY + REGULAR_STEPS)
/* Accesses without one of another stream after which one is alone. */
#define ALONE_ACCESSES		64U
/* Elements by which it is seen how fast a reader is, and seen anew. */
#define ELEMENTS_TIMED		4U
#define ELEMENTS_TIMED_MOST	64U
/*
 * Elements in a row so far, that the row before was too short for that, and
 * that the reader took longer for some than to wait.
 */
#define ROW			0xffffU
#define ROW_WAS_SHORT		0x10000U
#define ROW_WAS_SLOW		0x20000U
/* Reads of others before the newest element. */
#define ROW_OTHERS_BITS		18
#define ROW_OTHERS_MAX		0x3fffU
#define REGULAR_MAX		255U

/* The windows of runs. */
#define ALIGN_PAGES		64U
#define PROBE_PAGES		16U
#define PROBE_DOUBLINGS		6U

/* The debt of a file, and the thrashing threshold. */
#define DEBT_PAGES_MAX		512U
#define DEBT_PAGES_COUNTED	(512U * 16)
#define THRASH_PAGES_MIN	8U

/* Near faults of RA_FAULTS with which a window around one is worth its price. */
#define NEAR_FAULTS_MIN		4U

/*
 * One part of so many of a file's windows are faults before windows are tried:
 * what is fetched page by page is fetched again, which costs so much at most.
 */
#define TRIAL_DELAY_PARTS	256U

/*
 * What a trial may cost: a hundred accesses of an arm. More, and a reader of
 * few pages anywhere pays for many windows; less, and files that are read
 * whole in a moment are fetched page by page.
 */
#define TRIAL_NS_MAX		800000000ULL

/* Lengths of runs. */
#define RUNS_BELIEVED		3U
#define LONGER_RUN_PAGES	32U

/* Rows of a stride that have to be alike, and gaps between them. */
#define ROWS_ALIKE		2U
#define ROWS_RETURNING		6U
#define NO_PLACE		0xffU

/* Nanoseconds in a unit of pace, as a power of two. */
#define PACE_UNIT_BITS		10

/* Bits of ra_stream.served. */
#define SERVED_CACHED		0x0f
#define SERVED_CACHED_MAX	8
#define SERVED_BOOSTED		0x10
#define SERVED_WAITED		0x20
#define SERVED_THRASHED		0x40
#define SERVED_PROBING		0x80
/* Before the first request: the newest step was not waited for. */
#define SERVED_PASSED		SERVED_PROBING

#define PLACES_MAX		RA_STREAMS_MANY
#define UNBOUNDED		(~0ULL)
#define UNBOUNDED_32		(~0U)

enum fit {
	FIT_NONE,
	FIT_NEAR,
	FIT_EXACT,
};

/* Where a row is, seen from the one before. */
enum row_next {
	/* Nowhere in particular. */
	ROW_ELSEWHERE,
	/* It may be the next round over streams that lie evenly spaced. */
	ROW_BACK,
	/* Its elements begin in those of the one before, or at their ends. */
	ROW_COLUMN,
};

/* What the next request of a stride may ask for. */
struct row_part {
	u64 elements;
	/* So many pages further than its period says: of the next row. */
	s64 gap;
	/* Pages behind each element, where columns lie that are read next. */
	u64 wider;
	/* It is the first request for so many columns; 0: it is not. */
	u8 columns;
	/* They begin with the next row. */
	bool of_next;
};

/* A row that begins: where its elements are, and how many have come. */
struct new_row {
	u8 backward;
	u64 step;
	u64 length;
	u64 first;
	u32 come;
};

/* What it follows. */
enum follows {
	/* Nothing that is followed. */
	FOLLOWS_NOTHING,
	/* The last row of its stride. */
	FOLLOWS_ROW,
	/* The same, or it is a round over streams that lie evenly spaced. */
	FOLLOWS_ROUND,
	/* Beside it another stride is read. */
	FOLLOWS_BESIDE,
	/* Another stride has stopped before it, and may go on. */
	FOLLOWS_AFTER,
};

/* What one access did to its stream, beside moving it. */
struct step {
	u64 hole;
	bool late;
	u64 lost;
	bool broke;
	/* What was read between its elements are elements of other strides. */
	bool takes_turns;
};

/* How far a run is expected to go on. */
enum rest_kind {
	REST_UNKNOWN,
	REST_AS_FAR_AGAIN,
	REST_PAGES,
	/* They ended anywhere: it may end before that, or behind it. */
	REST_LIKELY,
};

struct rest {
	enum rest_kind kind;
	u64 pages;
};

/* What a stream says of itself when its next request is sized. */
struct need {
	bool positioned;
	bool boosted;
	bool has_rate;
	u32 length;
	u32 request;
	u32 rate_pages;
	u64 rate_ns;
};

/* What holds while one access is looked at. */
struct arrival {
	struct ra_history *file;
	struct ra_stream *streams;
	unsigned int places;
	struct ra_range access;
	u64 now_ns;
	const struct ra_moment *moment;
	struct ra_decision *decision;
	/* Pages that the access leaves out before it, of a run. */
	u64 hole;
	/* The run of its stream has ended, and the next one begins with it. */
	bool begins_run;
	/* Others of the file were read since the access before of its stream. */
	bool in_turn;
};

static u64 min_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 max_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static u64 plus(u64 a, u64 b)
{
	return a + b < a ? UNBOUNDED : a + b;
}

static u64 distance_of(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* A place @gap further, or back. */
static u64 further(u64 place, s64 gap)
{
	return gap < 0 ? minus(place, -(u64)gap) : plus(place, gap);
}

/* There is a place @gap further, or back. */
static bool has_place(u64 place, s64 gap)
{
	return gap < 0 ? place >= -(u64)gap : place + (u64)gap >= place;
}

static u64 times(u64 a, u64 b)
{
	if (a && b > div64_u64(UNBOUNDED, a))
		return UNBOUNDED;
	return a * b;
}

static bool divides(u64 period, u64 distance)
{
	u64 rest;

	if (!period)
		return false;
	div64_u64_rem(distance, period, &rest);
	return !rest;
}

static u32 to_u32(u64 value)
{
	return value > 0xffffffffU ? 0xffffffffU : (u32)value;
}

static u16 to_u16(u64 value)
{
	return value > 0xffff ? 0xffff : (u16)value;
}

static u8 plus_u8(u8 value, u8 more)
{
	return value > 0xff - more ? 0xff : value + more;
}

static u64 power_of_two_at_least(u64 value)
{
	u64 power = 1;

	if (value > 1 << 20)
		return value;
	while (power < value)
		power <<= 1;
	return power;
}

static u64 length_of(struct ra_range range)
{
	return minus(range.end, range.start);
}

/* --- reading order ------------------------------------------------------ */

/* The mirror: applied twice, the border again. */
static u64 place_of(bool backward, u64 border)
{
	return backward ? RA_PAGES_MAX - border : border;
}

static struct ra_range mirrored(bool backward, struct ra_range range)
{
	struct ra_range other = range;

	if (backward) {
		other.start = place_of(true, range.end);
		other.end = place_of(true, range.start);
	}
	return other;
}

static struct ra_range span_of(const struct ra_stream *stream,
			       struct ra_range access)
{
	return mirrored(stream->backward, access);
}

/* --- devices ------------------------------------------------------------ */

/* Microseconds and kilobytes keep the product inside 64 bits. */
static u64 pages_in(u64 time_ns, u64 bytes_per_second)
{
	u64 bytes = times(div64_u64(time_ns, 1000),
			  div64_u64(bytes_per_second, 1000));

	bytes = div64_u64(bytes, 1000);
	return div64_u64(plus(bytes, PAGE_BYTES - 1), PAGE_BYTES);
}

static bool is_slow_to_access(const struct ra_device *device)
{
	return device->access_ns >= SLOW_ACCESS_NS;
}

/* Pages that go by while one access is under way. */
static u64 pages_per_access(const struct ra_device *device)
{
	return pages_in(device->access_ns, device->bytes_per_second);
}

/* The same for what one more request costs a device that is kept busy. */
static u64 pages_per_request(const struct ra_device *device)
{
	u64 depth = device->depth ? device->depth : 1;

	return pages_in(div64_u64(device->access_ns, depth),
			device->bytes_per_second);
}

/*
 * The smallest request worth making where each one is positioned for: a
 * device should transfer for nine parts of its time.
 */
static u64 efficient_request(const struct ra_device *device)
{
	u64 wanted = times(pages_per_request(device), TRANSFER_PARTS);

	return power_of_two_at_least(max_of(wanted, REQUEST_PAGES_MIN));
}

/* One access is covered while the next one is asked for. */
static u64 pipeline_request(const struct ra_device *device)
{
	u64 pages = times(pages_per_access(device), PIPELINE_ACCESSES);

	return power_of_two_at_least(max_of(pages, REQUEST_PAGES_MIN));
}

/* A request costs more than it takes to cover an access, as with an arm. */
static bool is_positioned_for(const struct ra_device *device)
{
	return efficient_request(device) > pipeline_request(device);
}

/* What is asked for early is read instead of something else. */
static bool has_one_arm(const struct ra_device *device)
{
	return device->depth <= 1 && is_slow_to_access(device) &&
	       is_positioned_for(device);
}

/* One reader has that to himself: it is where he is already. */
static bool has_only_arm(const struct ra_moment *moment)
{
	return has_one_arm(&moment->device) && !moment->contested;
}

static u64 transfer_ns(const struct ra_device *device, u64 pages)
{
	u64 bytes_per_ms = div64_u64(device->bytes_per_second, 1000);

	return div64_u64(times(times(pages, PAGE_BYTES), 1000000),
			 bytes_per_ms ? bytes_per_ms : 1);
}

static u64 served_at_once(const struct ra_device *device)
{
	return (u64)device->depth * 2;
}

/* --- shapes ------------------------------------------------------------- */

static bool is_run(const struct ra_stream *stream)
{
	return stream->shape == RA_RUN || stream->shape == RA_SHUFFLED ||
	       stream->shape == RA_SPARSE;
}

static bool is_candidate(const struct ra_stream *stream)
{
	return stream->shape == RA_CANDIDATE;
}

static bool is_forward_run(const struct ra_stream *stream)
{
	return is_run(stream) && !stream->backward;
}

static u32 run_pages(const struct ra_stream *stream)
{
	return (u32)stream->next - stream->began;
}

static bool goes_on(const struct ra_stream *stream)
{
	return is_run(stream) && run_pages(stream) > 0;
}

/* A run of few accesses. */
static bool is_short_run(const struct ra_stream *stream)
{
	return goes_on(stream) && stream->hits < ESTABLISHED_HITS;
}

static bool has_ended(const struct ra_stream *stream)
{
	return is_run(stream) && run_pages(stream) == 0;
}

/* So wide that it may be several evenly spaced streams, read in turn. */
static bool is_wide_stride(const struct ra_stream *stream)
{
	return stream->shape == RA_STRIDED && stream->step > YOUNG_GAP_PAGES;
}

static bool is_doubtful(const struct ra_stream *stream)
{
	return stream->hits < DOUBTFUL_HITS && is_wide_stride(stream);
}

/* So few pages of those spanned are read that what lies between counts. */
static bool are_few(u32 held, u32 spanned)
{
	return (u64)held * 8 < (u64)spanned * DENSE_EIGHTHS;
}

/* Less than seven pages of eight are read. */
static bool has_holes(const struct ra_stream *stream)
{
	return are_few(stream->held, stream->spanned);
}

/*
 * Anything is left out that was not read since, as far as is known: pages that
 * two reads share count twice.
 */
static bool may_have_gaps(const struct ra_stream *stream)
{
	return stream->held < 2U * stream->spanned;
}

static bool is_shuffled(const struct ra_stream *stream)
{
	return stream->disorder > DISORDER_SHUFFLED;
}

static u8 kind_of_run(const struct ra_stream *stream)
{
	if (is_shuffled(stream))
		return RA_SHUFFLED;
	return has_holes(stream) ? RA_SPARSE : RA_RUN;
}

/* Elements in a row that a stride has to have after so many doublings. */
static u32 elements_needed(u32 doublings)
{
	return REGULAR_STEPS << min_of(doublings, DOUBLINGS_MAX);
}

static bool is_trusted(const struct ra_stream *stream, u32 needed)
{
	if (is_run(stream))
		return !has_holes(stream) ||
		       stream->hits > max_of(ESTABLISHED_HITS, REGULAR_STEPS);
	return stream->shape == RA_STRIDED && stream->hits >= STRIDED_HITS &&
	       stream->regular >= needed;
}

/* An exact step inside the window changes nothing but places. */
static bool is_steady(const struct ra_stream *stream)
{
	return stream->hits >= ESTABLISHED_HITS &&
	       (stream->shape == RA_RUN ||
		(stream->shape == RA_SHUFFLED && !has_holes(stream)));
}

static u8 cached_requests(const struct ra_stream *stream)
{
	return stream->served & SERVED_CACHED;
}

/* --- windows ------------------------------------------------------------ */

static u64 marker_of(const struct ra_stream *stream)
{
	u64 tail = stream->tail;

	if (stream->shape == RA_STRIDED)
		tail = times(tail, stream->step);
	return minus(stream->frontier, tail);
}

static bool marker_crossed(const struct ra_stream *stream)
{
	return (is_run(stream) || stream->shape == RA_STRIDED) &&
	       stream->next > marker_of(stream);
}

static void forget_window(struct ra_stream *stream)
{
	if (is_run(stream) || stream->shape == RA_STRIDED) {
		stream->frontier = stream->next;
		stream->tail = 0;
	}
}

/* Pages asked for and not reached; 0 while others bring them. */
static u64 unread_of(const struct ra_stream *stream)
{
	u64 ahead = minus(stream->frontier, stream->next);

	if (cached_requests(stream))
		return 0;
	if (is_run(stream))
		return ahead;
	if (stream->shape != RA_STRIDED || !stream->step)
		return 0;
	return times(div64_u64(ahead, stream->step), max_of(stream->began, 1));
}

/* The access had been asked for (judged before the stream moves). */
static bool covers(const struct ra_stream *stream, struct ra_range access)
{
	struct ra_range span = span_of(stream, access);

	if (is_run(stream))
		return span.end <= stream->frontier &&
		       plus(span.start, REORDER_PAGES) > stream->next;
	if (stream->shape != RA_STRIDED)
		return false;
	span.start = place_of(stream->backward, access.start);
	return span.start >= stream->next && span.start < stream->frontier;
}

/* The access lies in the window, too far ahead to be the reader's own. */
static bool holds(const struct ra_stream *stream, struct ra_range access)
{
	struct ra_range span = span_of(stream, access);

	return is_run(stream) && !cached_requests(stream) &&
	       span.start >= stream->next && span.end <= stream->frontier;
}

/* --- does an access continue a stream? ---------------------------------- */

static bool within(u64 value, u64 low, u64 high)
{
	return low <= value && value <= high;
}

static enum fit fit_candidate(const struct ra_stream *stream,
			      struct ra_range access)
{
	u64 low = stream->frontier, high = stream->next;
	u64 length = access.end - access.start;
	u64 gap = YOUNG_GAP_PAGES;

	/* Nearly all comparisons end here, so it is one. */
	if (access.start - low + length + gap > high - low + length + 2 * gap)
		return FIT_NONE;
	if (access.start == high || access.end == low)
		return FIT_EXACT;
	if (within(access.start, low, high + gap) ||
	    within(access.end, minus(low, gap), high))
		return FIT_NEAR;
	return FIT_NONE;
}

/*
 * Pages behind the reader may still be wanted, as others there were: it has
 * left some out.
 */
static bool has_gaps_behind(const struct ra_stream *stream)
{
	return stream->hits >= ESTABLISHED_HITS &&
	       (stream->shape == RA_SPARSE || stream->shape == RA_SHUFFLED) &&
	       may_have_gaps(stream);
}

/* All of the access lies behind the reader. */
static bool has_passed(const struct ra_stream *stream, struct ra_range access)
{
	return is_run(stream) && span_of(stream, access).end <= stream->next;
}

/* The same, and further behind than what a server shuffles. */
static bool has_passed_long(const struct ra_stream *stream,
			    struct ra_range access)
{
	return has_passed(stream, access) &&
	       span_of(stream, access).start <
		       minus(stream->next, REORDER_PAGES);
}

/*
 * The access lies where the run has left out pages, or may have. An old gap is
 * further behind than what a server shuffles.
 */
static bool fills_gap(const struct ra_stream *stream, struct ra_range access,
		      bool old)
{
	return has_gaps_behind(stream) && has_passed(stream, access) &&
	       has_passed_long(stream, access) == old;
}

static enum fit fit_run(const struct ra_stream *stream, struct ra_range access)
{
	struct ra_range span = span_of(stream, access);
	u64 ahead = stream->hits >= ESTABLISHED_HITS ? REORDER_PAGES :
						       YOUNG_GAP_PAGES;
	u64 late = has_gaps_behind(stream) ? LATE_PAGES : ahead;
	/* A read that repeats the last one belongs to it, however long. */
	u64 behind = max_of(late, stream->length);

	if (!within(span.start, minus(stream->next, behind),
		    plus(stream->next, ahead)))
		return FIT_NONE;
	/* Or it begins inside the page where the last one ended. */
	if (span.start == stream->next ||
	    (span.start + 1 == stream->next && span.end >= stream->next))
		return FIT_EXACT;
	return FIT_NEAR;
}

static enum fit fit_strided(const struct ra_stream *stream,
			    struct ra_range access)
{
	u64 place = place_of(stream->backward, access.start);
	u64 miss = distance_of(place, stream->next);
	u64 period = stream->step;

	if (!miss)
		return FIT_EXACT;
	if (divides(period, miss) && place > stream->next &&
	    miss <= period * SKIPPED_ELEMENTS_MAX)
		return FIT_NEAR;
	if (period <= YOUNG_GAP_PAGES && miss <= YOUNG_GAP_PAGES)
		return FIT_NEAR;
	return FIT_NONE;
}

static enum fit fit_of(const struct ra_stream *stream, struct ra_range access)
{
	switch (stream->shape) {
	case RA_CANDIDATE:
		return fit_candidate(stream, access);
	case RA_RUN:
	case RA_SHUFFLED:
	case RA_SPARSE:
		return fit_run(stream, access);
	case RA_STRIDED:
		return fit_strided(stream, access);
	default:
		return FIT_NONE;
	}
}

/* How far the access is from where the next one was expected. */
static u64 miss_of(const struct ra_stream *stream, struct ra_range access)
{
	if (is_run(stream))
		return distance_of(span_of(stream, access).start, stream->next);
	if (stream->shape == RA_STRIDED)
		return distance_of(place_of(stream->backward, access.start),
				   stream->next);
	return distance_of(access.start, stream->next);
}

/* --- the lengths of runs ------------------------------------------------ */

static void run_ended(struct ra_history *file, u32 pages)
{
	file->run_newest = (file->run_newest + 1) % RA_REMEMBERED;
	file->run_pages[file->run_newest] = pages;
	if (file->run_known < RA_REMEMBERED)
		file->run_known++;
}

static void sort_lengths(u32 *lengths, unsigned int count)
{
	unsigned int i, j;

	for (i = 1; i < count; i++) {
		u32 length = lengths[i];

		for (j = i; j && lengths[j - 1] > length; j--)
			lengths[j] = lengths[j - 1];
		lengths[j] = length;
	}
}

/* As many pages as were read, and a window of the stock algorithm. */
static u64 as_far_again(u32 read)
{
	return (u64)read + LONGER_RUN_PAGES;
}

/* How far a run goes on of which @read pages were read. */
static struct rest rest_of_run(const struct ra_history *file, u32 read,
			       u64 access_pages)
{
	struct rest rest = { .kind = REST_UNKNOWN };
	u32 rests[RA_REMEMBERED];
	u32 longest = 0;
	unsigned int count = 0, back;

	if (!file->run_known && !file->run_doubted)
		return rest;
	if (file->run_known < RUNS_BELIEVED) {
		rest.kind = REST_AS_FAR_AGAIN;
		rest.pages = as_far_again(read);
		return rest;
	}
	rest.kind = REST_PAGES;
	for (back = 0; back < file->run_known; back++) {
		unsigned int at = file->run_newest + RA_REMEMBERED - back;
		u32 pages = file->run_pages[at % RA_REMEMBERED];

		if (pages > longest)
			longest = pages;
		if (pages >= read)
			rests[count++] = pages - read;
	}
	if (!count) {
		rest.kind = REST_LIKELY;
		rest.pages = max_of(to_u32((u64)(read - longest) * 2),
				    LONGER_RUN_PAGES);
		return rest;
	}
	sort_lengths(rests, count);
	/* Beyond one access, only what three of four would read. */
	rest.pages = max_of(rests[count / 4],
			    min_of(rests[count / 2], access_pages));
	/* Runs of no whole pages differ by one. */
	if (rests[count - 1] - rests[count / 4] <= 1)
		rest.pages = rests[count - 1];
	if (count < RUNS_BELIEVED || rests[count / 2] - rests[count / 4] > 1)
		rest.kind = REST_LIKELY;
	if (count < RUNS_BELIEVED && rest.pages > as_far_again(read)) {
		rest.kind = REST_AS_FAR_AGAIN;
		rest.pages = as_far_again(read);
	}
	return rest;
}

/* --- the debt of a file ------------------------------------------------- */

static void owe(struct ra_history *file, u64 pages)
{
	file->debt = min_of(plus(file->debt, pages), DEBT_PAGES_COUNTED);
}

/* @pages were asked for in vain. */
static void lose(struct ra_history *file, u64 pages)
{
	file->wasted += to_u32(pages);
	owe(file, to_u32(pages));
}

static void settle(struct ra_history *file, const struct step *step,
		   u64 length, bool covered, u32 rate)
{
	u64 paid;

	if (covered)
		owe(file, to_u32(step->hole));
	/*
	 * One that comes late fills a hole that was owed when it was passed. So
	 * late that nobody knows any more whether it had been asked for, it may
	 * have been.
	 */
	if (covered != step->late && rate)
		rate--;
	paid = times(to_u32(length), rate);
	file->debt = minus(file->debt, paid);
}

/* --- places in the table ------------------------------------------------ */

static void vacate(struct ra_stream *stream, u8 place)
{
	struct ra_stream vacant = {
		.generation = stream->generation + 1,
		.successor = place,
	};

	if (stream->shape != RA_VACANT)
		*stream = vacant;
}

static void give_up(struct ra_history *file, struct ra_stream *stream, u8 place)
{
	u64 unread = unread_of(stream);

	if (is_candidate(stream) || is_doubtful(stream) || has_ended(stream))
		file->evictions = plus_u8(file->evictions, 1);
	lose(file, unread);
	vacate(stream, place);
}

static bool may_give_way(const struct ra_stream *stream, u32 tick, u32 places,
			 bool runs_stop)
{
	u32 age = tick - stream->last_used;

	if (stream->shape == RA_VACANT || is_candidate(stream) ||
	    has_ended(stream))
		return true;
	if (runs_stop && places > RA_STREAMS_FEW && is_short_run(stream) &&
	    age >= places)
		return true;
	if (is_wide_stride(stream))
		return is_doubtful(stream) ||
		       age >= places * STALE_ROUNDS_STRIDED;
	return age >= places * STALE_ROUNDS;
}

/*
 * A place for a new stream, not @taken, or -1 when every stream is alive. In a
 * large table it is the first that may go from a place that changes with every
 * access: with one stream more than places, read in turn, the oldest would
 * always be the one that is needed next. Where @runs_stop, each before the next
 * one begins, one of few accesses that has not moved for as many as there are
 * places is not alive: of runs of three none would ever be seen to have ended.
 */
static int place_for_candidate(const struct ra_stream *streams,
			       unsigned int places, u32 tick, int taken,
			       bool runs_stop)
{
	u32 first = (tick * 0x9e3779b9U) >> 8;
	u64 oldest = 0;
	unsigned int step;
	int found = -1;

	for (step = 0; step < places; step++) {
		unsigned int place = places > RA_STREAMS_FEW ?
					     (first + step) % places : step;
		const struct ra_stream *stream = &streams[place];
		u64 age = (u64)is_candidate(stream) << 32;

		if ((int)place == taken ||
		    !may_give_way(stream, tick, places, runs_stop))
			continue;
		if (places > RA_STREAMS_FEW)
			return place;
		age |= (u32)(tick - stream->last_used);
		if (stream->shape == RA_VACANT)
			age = 2ULL << 32;
		if (found < 0 || age >= oldest) {
			found = place;
			oldest = age;
		}
	}
	return found;
}

static int free_place(struct arrival *a, int taken)
{
	struct ra_history *file = a->file;
	int place = place_for_candidate(a->streams, a->places, file->tick,
					taken, file->run_doubted);

	if (place < 0) {
		file->evictions = plus_u8(file->evictions, 1);
		return place;
	}
	if (file->run_doubted && is_short_run(&a->streams[place]))
		run_ended(file, run_pages(&a->streams[place]));
	give_up(file, &a->streams[place], place);
	return place;
}

static int add_candidate(struct arrival *a, int taken)
{
	int place = free_place(a, taken);
	struct ra_stream *stream;

	if (place < 0)
		return place;
	stream = &a->streams[place];
	stream->successor = place;
	stream->next = a->access.end;
	stream->frontier = a->access.start;
	stream->length = to_u16(length_of(a->access));
	stream->last_used = a->file->tick;
	stream->shape = RA_CANDIDATE;
	return place;
}

/* --- what no stream explained ------------------------------------------- */

static const struct ra_unexplained *recent_back(const struct ra_history *file,
						unsigned int count)
{
	unsigned int at = file->recent_newest + RA_REMEMBERED - count;

	return &file->recent[at % RA_REMEMBERED];
}

static void remember(struct ra_history *file, struct ra_range access)
{
	struct ra_unexplained *newest;

	file->recent_newest = (file->recent_newest + 1) % RA_REMEMBERED;
	newest = &file->recent[file->recent_newest];
	newest->start = access.start;
	newest->length = to_u32(length_of(access));
}

/* The step of the stride whose third element is @access, or 0. */
static s64 recent_step(const struct ra_history *file, struct ra_range access)
{
	u32 length = to_u32(length_of(access));
	unsigned int back, before;

	for (back = 0; back < RA_REMEMBERED; back++) {
		const struct ra_unexplained *second = recent_back(file, back);
		s64 step = (s64)(access.start - second->start);
		u64 first;

		if (second->length != length ||
		    distance_of(access.start, second->start) <= length)
			continue;
		first = second->start - (u64)step;
		if (step > 0 && (u64)step > second->start)
			continue;
		for (before = back + 1; before < RA_REMEMBERED; before++) {
			const struct ra_unexplained *other =
				recent_back(file, before);

			if (other->start == first && other->length == length)
				return step;
		}
	}
	return 0;
}

/* Whether an access as long as @access, so far before it, is remembered. */
static bool was_read(const struct ra_history *file, struct ra_range access,
		     s64 before)
{
	u32 length = to_u32(length_of(access));
	unsigned int back;

	if (before > 0 && (u64)before > access.start)
		return false;
	for (back = 0; back < RA_REMEMBERED; back++) {
		const struct ra_unexplained *one = recent_back(file, back);

		if (one->start == access.start - (u64)before &&
		    one->length == length)
			return true;
	}
	return false;
}

/*
 * The run whose newest access is @access leaves something out, nothing was
 * asked for, and nothing else is read: its reads may be elements of several
 * strides in turn. The step to this one from the one before of its stride, if
 * others were read in between, or 0. Remembers the access.
 */
static s64 turn_of(struct arrival *a, unsigned int place)
{
	const struct ra_stream *stream = &a->streams[place];
	const struct ra_unexplained *before;
	struct ra_history *file = a->file;
	unsigned int other;
	s64 step = 0;

	if (!is_run(stream) || stream->request ||
	    stream->hits < ESTABLISHED_HITS || !has_holes(stream))
		return 0;
	for (other = 0; other < a->places; other++) {
		const struct ra_stream *beside = &a->streams[other];

		if (other != place && beside->shape != RA_VACANT &&
		    file->tick - beside->last_used <= ALONE_ACCESSES)
			return 0;
	}
	if (stream->step & STEP_IN_TURN) {
		step = stream->step & ~STEP_IN_TURN;
		step = stream->backward ? -step : step;
		if (!was_read(file, a->access, step) ||
		    !was_read(file, a->access, 2 * step))
			step = 0;
	}
	if (!step)
		step = recent_step(file, a->access);
	/* What is read again is no other element. */
	if (recent_back(file, 0)->start != a->access.start)
		remember(file, a->access);
	before = recent_back(file, 1);
	if (!step || !before->length ||
	    before->start == a->access.start - (u64)step)
		return 0;
	return step;
}

/* --- moving a stream ---------------------------------------------------- */

static bool is_paced(const struct ra_stream *stream)
{
	return stream->pace_place || stream->pace_moment;
}

static void forget_pace(struct ra_stream *stream)
{
	stream->pace_place = 0;
	stream->pace_moment = 0;
}

/* The next request is the first one again. */
static void begin_requests(struct ra_stream *stream)
{
	stream->request = 0;
	forget_pace(stream);
}

static u32 step_between(u64 from, u64 to)
{
	u64 step = minus(to, from);

	return step > 0xffffffffU ? 0 : (u32)step;
}

static u16 add_u16(u16 value, u64 more)
{
	return to_u16(plus(value, to_u16(more)));
}

/* An access of @held pages took the reader @spanned pages further. */
static void count_density(struct ra_stream *stream, u64 held, u64 spanned)
{
	stream->held = add_u16(stream->held, held);
	stream->spanned = add_u16(stream->spanned, spanned);
	if (stream->held > DENSITY_HISTORY_PAGES ||
	    stream->spanned > DENSITY_HISTORY_PAGES) {
		stream->held /= 2;
		stream->spanned /= 2;
	}
}

static void begin_stride(struct ra_stream *stream, u64 place, u64 length,
			 u64 period, u64 unread)
{
	u64 elements = period ? div64_u64(unread, period) : 0;

	stream->step = period;
	stream->began = to_u32(length);
	stream->next = plus(place, period);
	stream->frontier = plus(stream->next, period * elements);
	stream->tail = to_u32(elements - elements / 2);
	stream->shape = RA_STRIDED;
	/* It is counted in elements from now on. */
	forget_pace(stream);
}

static void become_strided(struct arrival *a, unsigned int place,
			   struct ra_range access, s64 step)
{
	struct ra_stream *stream = &a->streams[place];
	u64 length = length_of(access);

	stream->successor = place;
	stream->length = to_u16(length);
	stream->last_used = a->file->tick;
	stream->backward = step < 0;
	stream->regular = REGULAR_STEPS;
	stream->hits = 2;
	begin_stride(stream, place_of(stream->backward, access.start), length,
		     step < 0 ? -(u64)step : (u64)step, 0);
}

/* It is a stride together with those it takes turns with, and no row. */
static void believe(struct ra_stream *stream)
{
	stream->hits = DOUBTFUL_HITS;
	stream->regular = REGULAR_STEPS + 1;
}

/* False: the same pages again, nothing to learn. */
static bool advance_candidate(struct ra_stream *stream, struct ra_range access)
{
	struct ra_range first = { stream->frontier, stream->next };
	struct ra_range span;
	u64 passed;

	if (access.start >= first.start && access.end <= first.end)
		return false;
	stream->backward = access.end <= first.end;
	first = span_of(stream, first);
	span = span_of(stream, access);
	stream->hits = 1;
	stream->step = step_between(first.start, span.start);
	passed = span.end - first.end;
	count_density(stream, min_of(length_of(access), passed), passed);
	stream->began = (u32)first.start;
	stream->next = span.end;
	stream->frontier = span.start;
	stream->tail = 0;
	stream->shape = kind_of_run(stream);
	return true;
}

/*
 * Counts a step that is as long as those before. Where reads wait, those that
 * are not waited for say that the kernel reads through the holes, which it goes
 * on doing unless something else is asked for. One alone may share its page.
 */
static void count_regular(struct ra_stream *stream, bool waits)
{
	bool has_waited = stream->served & SERVED_WAITED;
	bool has_passed = stream->served & SERVED_PASSED;

	if (!stream->request) {
		stream->served &= ~(SERVED_WAITED | SERVED_PASSED);
		if (!has_waited)
			stream->served |= SERVED_PASSED;
		if (!has_waited && has_passed && waits) {
			stream->regular = 0;
			return;
		}
	}
	stream->regular = plus_u8(stream->regular, 1);
}

/*
 * The run comes back for what it leaves out, so that even steps are no stride:
 * those down the first lines of a tile are. One that looks at an index between
 * its elements reads less than one page of four.
 */
static bool comes_back(const struct ra_stream *stream)
{
	return stream->shape == RA_SHUFFLED &&
	       4U * stream->held >= stream->spanned;
}

/* The pages of the newest step of a run, if they are known. */
static u32 step_of(const struct ra_stream *stream)
{
	return stream->step & STEP_IN_TURN ? 0 : stream->step;
}

/* The run is a stride from now on. */
static void end_in_stride(struct ra_stream *stream, struct ra_range access,
			  u64 period)
{
	u64 place = place_of(stream->backward, access.start);
	u64 unread = unread_of(stream);

	/* Those of the equal steps, and two of the first one. */
	stream->hits = REGULAR_STEPS + 1;
	begin_stride(stream, place, length_of(access), period, unread);
}

/* Counts the access, if by @step it is an element of a stride in turn. */
static bool count_turn(struct ra_stream *stream, struct ra_range access,
		       s64 step)
{
	struct ra_range span = span_of(stream, access);
	u64 period = step < 0 ? -(u64)step : (u64)step;
	u32 hole;

	if (!step || (step < 0) != stream->backward ||
	    period >= PERIOD_IN_TURN_MAX)
		return false;
	hole = step_between(minus(stream->next, stream->length), span.start);
	if (stream->step != (STEP_IN_TURN | (u32)period)) {
		stream->regular = 1;
		stream->step = STEP_IN_TURN | (u32)period;
	} else {
		count_regular(stream, hole <= SHORT_STEP_PAGES);
	}
	return true;
}

/*
 * @waits: some of the last reads of the file waited
 * @turn: the access was counted as one in turn
 */
static void advance_run(struct ra_stream *stream, struct ra_range access,
			bool waits, bool turn)
{
	struct ra_range span = span_of(stream, access);
	u16 length = to_u16(length_of(access));
	u64 old = stream->next;
	bool has_hole = span.start > old;
	u64 passed;
	u32 step;

	if (span.end <= old) {
		/* Behind: late, the same again, or a page in small pieces. */
		bool again = span.end == old && stream->length == length;
		bool touches = span.start == old || span.end == old;

		if (length > 1 || stream->length != length || !touches) {
			u8 disorder = plus_u8(stream->disorder, LATE_COUNTS);

			if (!again)
				stream->disorder = min_of(disorder,
							  DISORDER_MAX);
			/* The holes are filled: they are no stride. */
			if (!again && !turn)
				stream->regular = 0;
			count_density(stream, length, 0);
			stream->shape = kind_of_run(stream);
		}
		return;
	}
	step = step_between(minus(old, stream->length), span.start);
	if (turn) {
		/* It is counted. */
	} else if (comes_back(stream)) {
		/* Until it has not come back for many of these. */
		if (has_hole && stream->disorder &&
		    distance_of(step, step_of(stream)) <= 1)
			stream->disorder--;
		stream->regular = 0;
		stream->step = step;
	} else if (has_hole && step == step_of(stream) &&
		   length == stream->length) {
		count_regular(stream, waits && step <= SHORT_STEP_PAGES);
	} else {
		stream->regular = 0;
		stream->step = step;
	}
	stream->next = span.end;
	stream->hits = plus_u8(stream->hits, 1);
	if (!has_hole && stream->disorder)
		stream->disorder--;
	/* What it repeats of the last one fills no hole. */
	passed = span.end - old;
	count_density(stream, min_of(length, passed), passed);
	/* Where hardly anything is left out it goes on as it is. */
	if (stream->regular >= REGULAR_STEPS &&
	    are_few(length, step_of(stream)))
		end_in_stride(stream, access, stream->step);
	else
		stream->shape = kind_of_run(stream);
}

static void advance_strided(struct ra_stream *stream, struct ra_range access)
{
	u64 place = place_of(stream->backward, access.start);
	struct ra_range span = span_of(stream, access);

	if (divides(stream->step, distance_of(place, stream->next))) {
		/* What is on its way is as long as it was asked for. */
		if (length_of(access) < stream->began ||
		    stream->frontier <= stream->next)
			stream->began = to_u32(length_of(access));
		if (place == stream->next)
			stream->regular = plus_u8(stream->regular, 1);
		stream->next = plus(place, stream->step);
		stream->hits = plus_u8(stream->hits, 1);
		return;
	}
	/* The newest step broke the rule, but stayed close. */
	stream->regular = 0;
	stream->step = 0;
	stream->next = span.end;
	stream->began = (u32)span.start;
	forget_window(stream);
	stream->shape = kind_of_run(stream);
}

/* Whether one of the last reads waited. */
static bool has_waited_lately(const struct ra_history *file)
{
	return file->last_wait && file->tick - file->last_wait <= WAITS_TOGETHER;
}

/* Moves the stream to an access that fits it, by @turn if it is in turn. */
static struct step advance(struct ra_stream *stream, struct ra_range access,
			   bool waits, s64 turn, u32 tick)
{
	u64 unread = unread_of(stream);
	u64 before = stream->next;
	bool had_gaps = may_have_gaps(stream);
	bool was_strided = stream->shape == RA_STRIDED, is_strided;
	struct step step = {};
	struct ra_range span;

	stream->last_used = tick;
	if (is_candidate(stream)) {
		if (advance_candidate(stream, access))
			stream->length = to_u16(length_of(access));
		return step;
	}
	if (was_strided) {
		advance_strided(stream, access);
	} else if (is_run(stream)) {
		bool counts = count_turn(stream, access, turn);

		step.takes_turns = counts && stream->regular >= REGULAR_STEPS;
		if (step.takes_turns) {
			end_in_stride(stream, access,
				      stream->step & ~STEP_IN_TURN);
			believe(stream);
		} else {
			advance_run(stream, access, waits, counts);
		}
	} else {
		return step;
	}
	stream->length = to_u16(length_of(access));
	/* Holes of a window that became strided, elements of a broken rule. */
	is_strided = stream->shape == RA_STRIDED;
	if (was_strided != is_strided)
		step.lost = minus(minus(unread, unread_of(stream)),
				  length_of(access));
	step.broke = was_strided && !is_strided;
	if (!is_strided) {
		span = span_of(stream, access);
		step.hole = minus(span.start, before);
		step.late = span.end < before && had_gaps;
	}
	return step;
}

/* --- how much to ask for ------------------------------------------------ */

/*
 * Pages that a stream has read up to here, counted from anywhere: a distance
 * of two places is what was read in between, without holes of a stride.
 */
static u32 pages_before(const struct ra_stream *stream)
{
	if (stream->shape != RA_STRIDED)
		return (u32)stream->next;
	return (u32)times(div64_u64(stream->next, max_of(stream->step, 1)),
			  max_of(stream->began, 1));
}

/* Elements of a stride up to here, counted from anywhere. */
static u32 elements_before(const struct ra_stream *stream)
{
	return (u32)div64_u64(stream->next, max_of(stream->step, 1));
}

/* Time since the pace was restarted; 0 if the clock stood still. */
static u64 paced_ns(const struct ra_stream *stream, u64 now_ns)
{
	u32 time = (u32)(now_ns >> PACE_UNIT_BITS) - stream->pace_moment;

	return time < 1U << 31 ? (u64)time << PACE_UNIT_BITS : 0;
}

/* The rate of a reader since it asked last, if the clock moved. */
static bool rate_of(const struct ra_stream *stream, u64 now_ns, u32 *pages,
		    u64 *time_ns)
{
	*pages = pages_before(stream) - stream->pace_place;
	*time_ns = paced_ns(stream, now_ns);
	return stream->request && is_paced(stream) && *pages &&
	       *pages < 1U << 31 && *time_ns;
}

static void restart_pace(struct ra_stream *stream, u32 place, u64 now_ns)
{
	stream->pace_place = place;
	stream->pace_moment = (u32)(now_ns >> PACE_UNIT_BITS);
}

/*
 * It is seen how fast the reader of a stride is, from the element behind the
 * one with which it became one: nothing was asked for, as a run either.
 */
static bool is_timed(const struct ra_stream *stream)
{
	return stream->shape == RA_STRIDED && !stream->backward &&
	       !stream->request && stream->frontier < stream->next;
}

/* Elements by which that is seen. */
static u32 elements_timed(const struct ra_stream *stream)
{
	if (!is_paced(stream))
		return 0;
	return elements_before(stream) - stream->pace_place;
}

/*
 * Counts an element, which came after others if the reader has returned: so
 * many @others were read since the one before. Who takes turns has left twice,
 * one time after the other, before he was timed. The tail of a window with
 * nothing in it holds the count.
 */
static bool count_in_row(struct ra_stream *stream, u32 others, bool returned)
{
	u32 row = stream->tail & ROW;
	bool was_short = row < ELEMENTS_TIMED, takes_turns;

	if (!returned) {
		stream->tail += row < ROW;
		stream->tail &= ~(ROW_OTHERS_MAX << ROW_OTHERS_BITS);
		return false;
	}
	takes_turns = was_short && (stream->tail & ROW_WAS_SHORT);
	stream->tail = 1 | (stream->tail & ROW_WAS_SLOW) |
		       (was_short ? ROW_WAS_SHORT : 0) |
		       ((u32)min_of(others, ROW_OTHERS_MAX) << ROW_OTHERS_BITS);
	return takes_turns;
}

/*
 * What was timed in a row ends where others were read, as the arm comes back
 * first: unless it is sent from one reader to the next.
 */
static void time_stride(struct ra_stream *stream, u64 now_ns, u32 others,
			bool returned)
{
	bool takes_turns;

	if (!is_timed(stream))
		return;
	takes_turns = count_in_row(stream, others, returned);
	if (returned && !takes_turns)
		forget_pace(stream);
	else if (!is_paced(stream) ||
		 elements_timed(stream) > ELEMENTS_TIMED_MOST)
		restart_pace(stream, elements_before(stream), now_ns);
}

/* --- rows of a stride --------------------------------------------------- */

/* Whether the stream is the stride that is followed. */
static bool is_followed(const struct ra_history *file,
			const struct ra_stream *stream, unsigned int place)
{
	return stream->shape == RA_STRIDED && file->row_step &&
	       file->row_place == place && file->row_step == stream->step;
}

/* It is known how many elements a row has. */
static bool rows_known(const struct ra_history *file)
{
	return file->row_alike >= ROWS_ALIKE &&
	       file->row_elements >= ELEMENTS_SEEN &&
	       file->row_elements < 0xffff &&
	       file->row_come <= file->row_elements;
}

/*
 * Gaps in a row that have to be equal. Streams that lie evenly spaced and are
 * read in turn look like rows that return, and are better asked for one by one,
 * which some rounds tell.
 */
static u32 gaps_needed(const struct ra_history *file)
{
	return file->row_next == ROW_BACK ? ROWS_RETURNING : ROWS_ALIKE;
}

/* It is known where the next row begins. */
static bool next_row_known(const struct ra_history *file)
{
	return rows_known(file) && file->row_equal >= gaps_needed(file);
}

/* The gap was as large again: with one more than needed, one may differ. */
static void confirm_gap(struct ra_history *file)
{
	file->row_equal = min_of(file->row_equal + 1U, gaps_needed(file) + 1);
}

/*
 * Columns. Rows that begin where the first element of the last one ended lie
 * side by side, as the tiles of a matrix do. Asked for one at a time each of
 * their elements is a request, so elements are asked for as wide as some
 * columns are, twice as many each time. A band is what fits in a period; once
 * the next one was seen to begin where one ended, bands are asked for whole.
 */

/* Columns behind this one of which elements were asked for with it. */
static u32 columns_rest(const struct ra_history *file)
{
	return file->columns_together > file->columns_come ?
		       file->columns_together - file->columns_come : 0;
}

/* The column behind the next @passed ones is the first one of the next band. */
static bool band_over_after(const struct ra_history *file, u32 passed)
{
	return file->columns_of_band &&
	       file->columns_before + passed + 1 >= file->columns_of_band;
}

/* Columns of its band before that one. */
static u32 columns_before_after(const struct ra_history *file, u32 passed)
{
	return band_over_after(file, passed) ? 0 :
					       file->columns_before + passed + 1;
}

/* The next ones may be asked for: when half of these have come at the latest. */
static bool next_columns_due(const struct ra_history *file)
{
	return file->columns_come >=
	       (file->columns_of_band ? file->columns_together / 2 :
					file->columns_together);
}

/*
 * Columns to ask for, with @before of their band before them, where @most fit
 * in a band, memory has space for @affordable, and @cheap cost an element less
 * than to be positioned for.
 */
static u8 columns_wanted(const struct ra_history *file, u32 before, u64 most,
			 u64 affordable, u64 cheap)
{
	u64 together = max_of(file->columns_together, 1);
	u64 wanted = min_of(4 * together, 0xff) <= cheap ? 4 : 2;

	wanted = min_of(wanted * together, 0xff);
	if (file->columns_of_band) {
		most = file->columns_of_band;
		wanted = 0xff;
	}
	wanted = min_of(wanted, min_of(minus(most, before), affordable));
	return max_of(wanted, 1);
}

static void begin_columns(struct ra_history *file, u8 columns)
{
	file->columns_together = columns;
	file->columns_come = 1;
	file->columns_next = 0;
}

/* The next column begins. Whether all of its elements were asked for. */
static bool take_column(struct ra_history *file)
{
	file->columns_before = min_of(columns_before_after(file, 0), 0xff);
	if (columns_rest(file)) {
		file->columns_come++;
		return true;
	}
	if (file->columns_next)
		begin_columns(file, file->columns_next);
	return false;
}

/*
 * A row begins that is no column of this band: the first one of the next, which
 * @follows it, or one elsewhere. The columns that were asked for in vain.
 */
static u32 end_band(struct ra_history *file, bool follows)
{
	u32 lost = columns_rest(file);
	u8 of_band = min_of(file->columns_before + 1U, 0xff);

	/* All that was asked for was read: the next band has as many. */
	file->columns_together = lost ? file->columns_come : of_band;
	file->columns_come = file->columns_together;
	file->columns_of_band = follows && file->columns_before < 0xff ?
					of_band : 0;
	file->columns_next = 0;
	file->columns_before = 0;
	return lost;
}

/* Pages from a column to the next one; 0: rows of period @step are none. */
static u64 shift_of(const struct ra_history *file, u64 step)
{
	u64 row = times(step, file->row_elements);

	if (file->row_next != ROW_COLUMN || !has_place(row, file->row_gap))
		return 0;
	return row + (u64)file->row_gap;
}

static u64 column_pages(const struct ra_history *file, u64 shift)
{
	return max_of(times(shift, file->row_elements), 1);
}

/* From behind a column, with @before of its band before it, to the next band. */
static s64 gap_to_band(u32 before, u64 shift)
{
	return -(s64)(shift * before);
}

/*
 * How far behind the next element the row begins that is behind the next
 * @passed ones.
 */
static s64 gap_behind(const struct ra_history *file, u64 step, u32 passed)
{
	u64 shift = shift_of(file, step);

	if (shift && band_over_after(file, passed))
		return gap_to_band(file->columns_before, shift);
	return file->row_gap + (s64)(shift * passed);
}

/* The band has ended, @gap leads to what is read next. Pages lost with it. */
static u64 lose_columns(struct ra_history *file, u64 step, bool has_gap,
			s64 gap)
{
	u64 shift = shift_of(file, step);
	bool follows = false;

	if (!shift) {
		end_band(file, false);
		return 0;
	}
	if (has_gap && file->columns_before) {
		s64 expected = gap_to_band(file->columns_before, shift);
		u64 off = gap > expected ? (u64)gap - (u64)expected :
					   (u64)expected - (u64)gap;

		/* Seen by its pages it may be off by one of them. */
		follows = off <= 1;
	}
	return times(end_band(file, follows), column_pages(file, shift));
}

/* The row has ended; how many elements it had is known now. */
static void end_row(struct ra_history *file)
{
	bool alike = file->row_come == file->row_elements;

	if (!file->row_come)
		return;
	file->row_alike = alike ? min_of(file->row_alike + 1U, ROWS_ALIKE) : 1;
	file->row_elements = file->row_come;
	file->row_come = 0;
}

/* Where the next row is, by the gap to it; elements have @length pages. */
static u8 next_row_seen(const struct ra_history *file, u64 step, u64 length)
{
	u64 row = times(step, file->row_elements);
	u64 shift = has_place(row, file->row_gap) ? row + (u64)file->row_gap :
						    0;

	if (shift && shift <= length)
		return ROW_COLUMN;
	return file->row_gap < 0 && step > YOUNG_GAP_PAGES ? ROW_BACK :
							     ROW_ELSEWHERE;
}

/*
 * The same, its period being @step, and the next one, of elements of @length
 * pages, begins @gap pages behind where another element would have been. Pages
 * of further columns that were asked for in vain.
 */
static u64 end_row_at(struct ra_history *file, u64 step, u64 length, s64 gap)
{
	bool at_next = !file->row_come;
	u64 lost = 0;

	/* The stream was at the next row already, where that was expected. */
	if (at_next) {
		u64 shift = shift_of(file, step);
		s64 passed = file->row_gap;

		if (shift && !file->columns_before && file->columns_of_band)
			passed = gap_to_band(file->columns_of_band - 1, shift);
		gap = (s64)((u64)gap + (u64)passed);
	}
	end_row(file);
	if (gap == file->row_gap) {
		if (!at_next)
			take_column(file);
	} else {
		lost = lose_columns(file, step, true, gap);
		if (next_row_known(file)) {
			/* The last one of a plane: the others are as they were. */
			file->row_equal--;
			return lost;
		}
		file->row_gap = gap;
		file->row_equal = 0;
	}
	file->row_next = next_row_seen(file, step, length);
	confirm_gap(file);
	return lost;
}

/* The stream is a stride on the grid of @row, and has not moved since. */
static bool is_last_row(const struct ra_history *file,
			const struct ra_stream *stream,
			const struct new_row *row, bool columns)
{
	/* Each may touch a page more; the last column of a band is narrower. */
	bool as_long = stream->began == row->length ||
		       stream->began + 1 == row->length ||
		       stream->began == row->length + 1 ||
		       (columns && stream->began < row->length);

	return stream->shape == RA_STRIDED &&
	       file->tick - stream->last_used >= row->come &&
	       stream->backward == row->backward &&
	       stream->step == row->step && as_long;
}

/*
 * A row was seen to begin: where the stride that is followed has stopped, it is
 * its next one.
 */
static enum follows end_last_row(struct arrival *a, const struct new_row *row)
{
	struct ra_history *file = a->file;
	unsigned int place = file->row_place;
	bool columns = file->row_next == ROW_COLUMN;
	const struct ra_stream *last;
	s64 gap;

	if (place >= a->places)
		return FOLLOWS_NOTHING;
	last = &a->streams[place];
	if (!is_followed(file, last, place))
		return FOLLOWS_NOTHING;
	if (!is_last_row(file, last, row, columns)) {
		u32 idle = file->tick - last->last_used;
		u32 most = max_of(file->row_elements, file->row_come);

		if (idle > 2 * most)
			return FOLLOWS_NOTHING;
		return idle < row->come ? FOLLOWS_BESIDE : FOLLOWS_AFTER;
	}
	gap = (s64)(row->first - last->next);
	lose(file, end_row_at(file, row->step, row->length, gap));
	/* Else it may be another reader, and this one comes back. */
	for (place = 0; rows_known(file) && place < a->places; place++)
		if (is_last_row(file, &a->streams[place], row, columns))
			give_up(file, &a->streams[place], place);
	return gap < 0 && row->step > YOUNG_GAP_PAGES ? FOLLOWS_ROUND :
							FOLLOWS_ROW;
}

/* What the pace of a stride is counted in. */
static u32 paced_before(const struct ra_stream *stream)
{
	return is_timed(stream) ? elements_before(stream) :
				  pages_before(stream);
}

/*
 * All elements of the row that begins were asked for. The marker is there if
 * what follows is due and was not asked for, else at the end.
 */
static void cover_row(const struct ra_history *file, struct ra_stream *stream)
{
	u64 way = times(stream->step, file->row_elements);
	bool asked = minus(stream->frontier, stream->next) >= way;

	stream->frontier = plus(max_of(stream->next, stream->frontier), way);
	stream->tail = next_columns_due(file) && !asked ? UNBOUNDED_32 : 0;
}

/* The reader of a stride goes on at the next row, where that is known. */
static void go_on(struct ra_history *file, struct ra_stream *stream)
{
	s64 gap;
	u32 before;

	if (file->row_come != file->row_elements || !next_row_known(file))
		return;
	gap = gap_behind(file, stream->step, 0);
	if (!has_place(stream->next, gap))
		return;
	before = paced_before(stream);
	stream->next += (u64)gap;
	/* Where nothing is asked for it says nothing. */
	stream->frontier = further(stream->frontier, gap);
	if (is_paced(stream))
		stream->pace_place += paced_before(stream) - before;
	file->row_come = 0;
	if (take_column(file))
		cover_row(file, stream);
}

/*
 * The first elements of a row are no others of a stride, as with those of the
 * next rows they would be.
 */
static void forget_elements(struct ra_history *file, const struct new_row *row)
{
	unsigned int at;

	for (at = 0; at < RA_REMEMBERED; at++) {
		u64 place = place_of(row->backward, file->recent[at].start);

		if (place == row->first || place == plus(row->first, row->step))
			file->recent[at].length = 0;
	}
}

/* The stream at @place begins the row. */
static void begin_row(struct arrival *a, unsigned int place,
		      const struct new_row *row, enum follows follows)
{
	struct ra_stream *stream = &a->streams[place];
	struct ra_history *file = a->file;

	if (follows == FOLLOWS_ROW || follows == FOLLOWS_AFTER)
		forget_elements(file, row);
	if (row->step != file->row_step) {
		if (follows == FOLLOWS_BESIDE || follows == FOLLOWS_AFTER)
			return;
		file->row_gap = 0;
		file->row_step = row->step;
		file->row_elements = 0;
		file->row_come = 0;
		file->row_alike = 0;
		file->row_equal = 0;
		file->row_next = ROW_ELSEWHERE;
		begin_columns(file, 0);
		file->columns_come = 0;
		file->columns_before = 0;
		file->columns_of_band = 0;
	}
	end_row(file);
	file->row_place = place;
	file->row_come = to_u16(row->come);
	go_on(file, stream);
}

/* The row of which the access is element @come. */
static struct new_row new_row_of(const struct arrival *a, bool backward,
				 u64 step, u64 length, u32 come)
{
	struct new_row row = {
		.backward = backward,
		.step = step,
		.length = length,
		.first = place_of(backward, a->access.start) -
			 times(step, come - 1),
		.come = come,
	};

	return row;
}

/*
 * The stream at @place took a step, from where it expected an element of
 * period @step and @length pages at @expected if it @followed rows. Whether
 * that is the first one of a row.
 */
static bool take_row_step(struct arrival *a, unsigned int place, bool followed,
			  u64 step, u64 length, u64 expected)
{
	struct ra_stream *stream = &a->streams[place];
	struct ra_history *file = a->file;
	bool first;
	s64 gap;

	if (!followed) {
		if (stream->shape == RA_STRIDED &&
		    stream->regular == REGULAR_STEPS) {
			struct new_row row = new_row_of(a, stream->backward,
							stream->step,
							stream->began,
							stream->hits + 1);

			begin_row(a, place, &row, end_last_row(a, &row));
		}
		return false;
	}
	gap = (s64)(place_of(stream->backward, a->access.start) - expected);
	if (stream->shape != RA_STRIDED || stream->step != step) {
		lose(file, end_row_at(file, step, length, gap));
		/* Until it is a stride again. */
		file->row_place = NO_PLACE;
		return false;
	}
	if (gap) {
		/* Some were left out: the next row may be asked for. */
		if (rows_known(file)) {
			u64 lost = lose_columns(file, step, false, 0);

			lose(file, plus(unread_of(stream), lost));
			forget_window(stream);
		}
		file->row_alike = 0;
	} else if (!file->row_come) {
		confirm_gap(file);
	}
	file->row_come = min_of(file->row_come + 1U, 0xffffU);
	first = file->row_come == 1;
	go_on(file, stream);
	return first;
}

/* What memory has space for where a reader is ahead by so many @requests. */
static u64 space_in(u32 requests, const struct need *need,
		    const struct ra_moment *moment, u32 thrash_pages)
{
	u64 threshold = moment->threshold;

	if (thrash_pages)
		threshold = min_of(threshold, thrash_pages);
	return min_of(div64_u64(times(threshold, moment->ratio), 100 * requests),
		      minus(moment->available, need->length));
}

/* What memory has space for in one request: while it is read the next comes. */
static u64 space_for(const struct need *need, const struct ra_moment *moment,
		     u32 thrash_pages)
{
	return space_in(2, need, moment, thrash_pages);
}

/* Pages that cost half a request of their own, at most. */
static u64 worth_reading(const struct ra_moment *moment)
{
	u64 pages = moment->contested ? pages_per_request(&moment->device) :
					pages_per_access(&moment->device);

	return pages / HOLE_PARTS;
}

/* Columns to ask for, with @before of their band before them; 0: none are. */
static u8 columns_to_ask(const struct ra_history *file, u64 step, u32 before,
			 u64 space, const struct ra_moment *moment)
{
	u64 shift = shift_of(file, step);

	if (!shift)
		return 0;
	return columns_wanted(file, before, div64_u64(step, shift),
			      div64_u64(space, column_pages(file, shift)),
			      div64_u64(worth_reading(moment), shift));
}

/* What is expected behind the window of a stride. False: nothing. */
static bool row_part_of(const struct ra_history *file,
			const struct ra_stream *stream, unsigned int place,
			const struct need *need, const struct ra_moment *moment,
			struct row_part *part)
{
	u64 row = file->row_elements, up_to, shift, space;
	u32 columns, rest;

	*part = (struct row_part){ .elements = UNBOUNDED };
	if (!is_followed(file, stream, place) || !rows_known(file))
		return true;
	shift = shift_of(file, stream->step);
	/*
	 * An arm comes to each element of a column anew: with those of the next
	 * band, columns are all that memory has space for.
	 */
	space = space_in(is_slow_to_access(&moment->device) ? 1 : 2, need,
			 moment, file->thrash_pages);
	rest = columns_rest(file);
	up_to = plus(file->row_come,
		     div64_u64(minus(stream->frontier, stream->next),
			       max_of(stream->step, 1)));
	if (up_to < row) {
		part->elements = row - up_to;
		if (!up_to && !rest && next_row_known(file))
			part->columns = columns_to_ask(file, stream->step,
						       file->columns_before,
						       space, moment);
		columns = part->columns ? part->columns : rest + 1;
		part->wider = times(shift, columns - 1);
		return true;
	}
	part->elements = minus(2 * row, up_to);
	part->gap = gap_behind(file, stream->step, rest);
	part->of_next = true;
	part->columns = file->columns_next;
	if (!part->columns)
		part->columns = columns_to_ask(file, stream->step,
					       columns_before_after(file, rest),
					       space, moment);
	part->wider = times(shift, max_of(part->columns, 1) - 1);
	return part->elements && next_row_known(file) && next_columns_due(file);
}

/* They were asked for. */
static void take_row_part(struct ra_history *file, const struct row_part *part)
{
	if (!part->columns)
		return;
	if (part->of_next)
		file->columns_next = part->columns;
	else
		begin_columns(file, part->columns);
}

/*
 * A stride whose reader would get nothing by asking: an arm that has nothing
 * else to do is as soon at each element, unless the reader computes meanwhile.
 * It passes by, a third more as its bandwidth is often a guess; or it is sent,
 * which takes less than an access to where it is near. He has to be slower
 * twice: an arm that is late for one element waits until it comes round again.
 */
static bool goes_with_arm(struct ra_stream *stream, u64 now_ns,
			  const struct ra_device *device)
{
	u32 elements = elements_timed(stream);
	u64 sent_ns, waiting_ns, time_ns;
	bool slow, was_slow;

	if (!is_timed(stream) || !has_one_arm(device))
		return false;
	if (elements < ELEMENTS_TIMED)
		return true;
	time_ns = paced_ns(stream, now_ns);
	if (!time_ns)
		return false;
	sent_ns = plus(device->access_ns, transfer_ns(device, stream->began));
	sent_ns = times(sent_ns, (stream->tail >> ROW_OTHERS_BITS) + 1);
	waiting_ns = min_of(sent_ns, transfer_ns(device, stream->step));
	waiting_ns = plus(waiting_ns, div64_u64(waiting_ns, 3));
	slow = time_ns > times(elements, waiting_ns);
	was_slow = stream->tail & ROW_WAS_SLOW;
	stream->tail &= ~ROW_WAS_SLOW;
	if (slow)
		stream->tail |= ROW_WAS_SLOW;
	if (slow && !was_slow)
		restart_pace(stream, elements_before(stream), now_ns);
	return !slow || !was_slow;
}

/* Pages that a reader consumes in @time_ns, whose rate is known. */
static u64 consumed_in(const struct need *need, u64 time_ns)
{
	return div64_u64(time_ns,
			 max_of(div64_u64(need->rate_ns, need->rate_pages), 1));
}

/* Most that a reader of this rate can use. It shrinks by halves. */
static u64 usable(const struct need *need, const struct ra_device *device)
{
	u64 ahead_ns = times(device->access_ns, ACCESSES_AHEAD);
	u64 pages = min_of(consumed_in(need, ahead_ns), 1 << 20);

	pages = power_of_two_at_least(pages);
	return max_of(max_of(pages, REQUEST_PAGES_MIN), need->request / 2);
}

/* At least as many pages, in whole pieces. */
static u64 in_pieces(u64 pages)
{
	return (pages + FIRST_REQUEST_PAGES - 1) / FIRST_REQUEST_PAGES *
	       FIRST_REQUEST_PAGES;
}

/*
 * About as many pages in whole pieces of what most devices are asked for at
 * once: the rest would be a request of its own, of which a device that is
 * shared has only so many a second.
 */
static u64 in_whole_pieces(u64 pages, u64 most)
{
	u64 below = pages / FIRST_REQUEST_PAGES * FIRST_REQUEST_PAGES;
	u64 nearest = (pages + FIRST_REQUEST_PAGES / 2) / FIRST_REQUEST_PAGES *
		      FIRST_REQUEST_PAGES;

	return max_of(nearest <= most ? nearest : below,
		      min_of(pages, FIRST_REQUEST_PAGES));
}

/* The largest single request now, or 0 when memory is too short for one. */
static u64 limit_of(const struct need *need, const struct ra_moment *moment,
		    u32 thrash_pages)
{
	const struct ra_device *device = &moment->device;
	bool slow = is_slow_to_access(device);
	bool arm = is_positioned_for(device);
	u64 efficient = efficient_request(device);
	u64 pipeline = pipeline_request(device);
	u64 wanted, limit, most, stock;

	if (moment->contested) {
		/* A request that is cut in two costs the device two. */
		u64 whole = in_pieces(need->length);
		u64 part = div64_u64(pipeline, max_of(moment->streams, 1));

		wanted = max_of(arm ? efficient : part, whole);
	} else if (need->positioned) {
		wanted = max_of(efficient, pipeline);
	} else {
		wanted = pipeline;
	}
	/* Waits of streams that share many channels come from sharing. */
	if (need->boosted && (!moment->contested || slow))
		wanted = times(wanted, WAIT_FACTOR);
	/* Who shares a device is slow because of the others. */
	if (need->has_rate && !moment->contested)
		wanted = min_of(wanted, usable(need, device));
	wanted = max_of(wanted, need->length);
	most = min_of(moment->request_max,
		      space_for(need, moment, thrash_pages));
	limit = min_of(most, wanted);
	if (moment->contested && !arm)
		limit = in_whole_pieces(limit, most);
	/* Pieces smaller than stock's are left to it: at least what is read. */
	stock = max_of(FIRST_REQUEST_PAGES,
		       arm ? min_of(need->length, moment->request_max) : 0);
	return limit >= min_of(wanted, stock) ? limit : 0;
}

static u32 next_size(u64 pages, u64 limit)
{
	u64 growth = pages * GROWTH_SMALL <= limit ? GROWTH_SMALL :
						     GROWTH_LARGE;

	return to_u32(min_of(pages * growth, limit));
}

/* The same for who has all that the device gives, or does not wait. */
static u32 next_size_of_content(const struct ra_stream *stream, u64 pages,
				u64 limit, bool arm_alone)
{
	u64 earned = run_pages(stream) / (arm_alone ? SATURATED_PARTS_OF_ARM :
						      SATURATED_PARTS);

	return min_of(next_size(pages, limit), to_u32(max_of(earned, pages)));
}

/*
 * The limit of a run that has earned more by waiting and is not to get more:
 * it keeps what it has. Requests that become smaller and larger in turn leave
 * an arm idle while the larger ones are read.
 */
static u64 limit_kept(const struct ra_stream *stream, const struct need *need,
		      const struct ra_moment *moment, u32 thrash_pages)
{
	u64 limit = limit_of(need, moment, thrash_pages);
	struct need boosted = *need;

	if (!limit || need->boosted || !(stream->served & SERVED_BOOSTED) ||
	    !is_run(stream) ||
	    !is_positioned_for(&moment->device))
		return limit;
	boosted.boosted = true;
	return max_of(limit, min_of(limit_of(&boosted, moment, thrash_pages),
				    stream->tail));
}

/* A hole of so many pages costs less than half a request of its own. */
static bool is_worth_reading(u64 hole, const struct ra_moment *moment)
{
	return hole <= worth_reading(moment);
}

/*
 * Pages that a run is expected to leave out before its next read: what it does
 * in the mean, or half way to the newest hole if that is longer. Where holes
 * grow the mean comes after them.
 */
static u64 expected_hole(const struct ra_stream *stream, u64 newest)
{
	u64 held = stream->held, spanned = stream->spanned;
	u64 accesses = max_of(div64_u64(held, max_of(stream->length, 1)), 1);
	u64 mean = div64_u64(minus(spanned, held), accesses);

	return (mean + max_of(newest, mean)) / 2;
}

/* Reading through the holes of a run pays, behind one of so many pages. */
static bool holes_pay(const struct ra_stream *stream, u64 newest,
		      const struct ra_moment *moment)
{
	if (times(stream->held, moment->hit_rate) < stream->spanned)
		return false;
	return is_worth_reading(expected_hole(stream, newest), moment);
}

/* What a request for so many pages ends on a multiple of. */
static u64 alignment_of(u64 pages)
{
	u64 power = 1;

	if (pages >= ALIGN_PAGES * 2)
		return ALIGN_PAGES;
	while (power * 2 <= pages / 8)
		power *= 2;
	return power;
}

/*
 * Where a request ends that reaches up to end: at the end of the file, if what
 * lies between is no more than half of it.
 */
static u64 end_in_file(u64 start, u64 end, u64 reach, u64 space,
		       u64 end_of_file)
{
	if (minus(end_of_file, end) <= reach / 2 &&
	    minus(end_of_file, start) <= space)
		return end_of_file;
	return min_of(end, end_of_file);
}

/* Extends the window of a run. False: it reaches the end of the file. */
static bool extend_run(struct ra_stream *stream, struct arrival *a, u64 pages,
		       const struct rest *rest, bool exact, bool *probe)
{
	struct ra_range span = span_of(stream, a->access), ask;
	u64 end_of_file = stream->backward ? RA_PAGES_MAX :
					     a->moment->file_pages;
	bool asked = stream->tail || stream->frontier > stream->next;
	u64 start = max_of(stream->frontier, span.start);
	u8 cached = cached_requests(stream);
	u64 first = max_of(start, span.end), space, reach, end, over;

	/*
	 * What the reader wants now goes first, in the same request. Also where
	 * it goes back to where it looked for what it reads now: what lies
	 * between is read next, and an arm comes back for each missing page of
	 * it when it has read all that was asked for. Not so after a long read
	 * that is repeated from its begin.
	 */
	if (!asked && span.end < stream->next &&
	    minus(stream->next, span.start) <= REORDER_PAGES &&
	    is_positioned_for(&a->moment->device))
		start = span.start;
	if (start >= end_of_file) {
		stream->tail = 0;
		return false;
	}
	/* All was in memory so far: look at the far end only. */
	*probe = cached > 1;
	space = min_of(minus(a->moment->available, length_of(a->access)),
		       a->moment->request_max);
	if (*probe)
		space = UNBOUNDED;
	if (rest->kind == REST_PAGES || rest->kind == REST_LIKELY)
		space = min_of(space, rest->pages);
	reach = min_of(pages << min_of(cached, PROBE_DOUBLINGS), space);
	end = plus(first, reach);
	if (!exact) {
		div64_u64_rem(end, alignment_of(reach), &over);
		end -= over;
	}
	/* Few go backward to the begin of a file. */
	if (*probe || exact || stream->backward)
		end = min_of(end, end_of_file);
	else
		end = end_in_file(first, end, reach, space, end_of_file);
	stream->frontier = end;
	ask.start = *probe ? end - min_of(PROBE_PAGES, end - start) : start;
	ask.end = end;
	if (end == end_of_file)
		stream->tail = 0;
	else if (*probe)
		stream->tail = 1;
	else
		stream->tail = to_u32(minus(end, max_of(start, stream->next)));
	a->decision->first = mirrored(stream->backward, ask);
	a->decision->period = 0;
	a->decision->count = a->decision->first.start < a->decision->first.end;
	return true;
}

/* Elements of one request that keep the device busy where each is small. */
static u64 fewest_at_once(u64 period, const struct ra_device *device)
{
	if (period > pages_per_access(device))
		return served_at_once(device);
	return max_of(served_at_once(device), ELEMENTS_MIN);
}

/*
 * Most elements of one request. An arm that passes them by on its way goes no
 * faster for more than it passes during one access, and has to come back when
 * the stride breaks.
 */
static u64 most_at_once(u64 period, const struct ra_moment *moment)
{
	u64 passed = pages_per_access(&moment->device);

	if (moment->contested || !is_positioned_for(&moment->device) ||
	    period > passed)
		return ELEMENTS_MAX;
	passed = max_of(div64_u64(passed, period), ELEMENTS_MIN);
	return min_of(passed, ELEMENTS_MAX);
}

/*
 * The holes cost less than half a request each, and are not more than is
 * allowed to be read in vain. Under an arm they pass by, read or not.
 */
static bool is_read_through(u64 period, u64 element,
			    const struct ra_moment *moment)
{
	return !is_positioned_for(&moment->device) &&
	       period <= times(element, moment->hit_rate) &&
	       is_worth_reading(minus(period, element), moment);
}

/* One range from the first to the last, what lies between included. */
static void join_ranges(struct ra_decision *decision)
{
	s64 way = decision->period * (s64)(decision->count - 1);

	if (way < 0)
		decision->first.start = minus(decision->first.start, -way);
	else
		decision->first.end = plus(decision->first.end, way);
	decision->period = 0;
	decision->count = min_of(decision->count, 1);
}

/* Extends the window of a stride. False: no further elements in the file. */
static bool extend_strided(struct ra_stream *stream, struct arrival *a,
			   u64 pages, u64 limit, const struct row_part *row)
{
	const struct ra_moment *moment = a->moment;
	u64 period = max_of(stream->step, 1);
	u64 element = max_of(plus(stream->began, row->wider), 1);
	u64 place = place_of(stream->backward, a->access.start);
	u64 first = max_of(stream->next, stream->frontier);
	bool through = is_read_through(period, element, moment) ||
		       (row->wider && period <= element);
	u64 asked, last, start, cheap, fewest, most, count, in_file = 0;

	/* The first one not asked for, or the one that is being read. */
	if (stream->next > stream->frontier &&
	    plus(place, period) == stream->next)
		first = place;
	if (!has_place(first, row->gap))
		return false;
	asked = further(first, row->gap);
	/* What lies behind an element lies in front of it in the file. */
	if (stream->backward)
		asked = plus(asked, row->wider);
	/* Only whole elements: all ranges of a request are equally long. */
	last = stream->backward ? RA_PAGES_MAX :
				  minus(moment->file_pages, element);
	if (last >= asked &&
	    (stream->backward || moment->file_pages >= element))
		in_file = div64_u64(last - asked, period) + 1;
	cheap = div64_u64(max_of(pages, ELEMENTS_MIN_PAGES), element);
	fewest = min_of(fewest_at_once(period, &moment->device),
			max_of(cheap, ELEMENTS_FEWEST));
	count = max_of(div64_u64(pages, period), fewest);
	count = min_of(count, most_at_once(period, moment));
	/* One page more where it begins and ends inside of pages. */
	most = through ? div64_u64(minus(limit, 1), period) :
			 div64_u64(limit, element);
	count = min_of(count, max_of(most, 1));
	/* As far as it came: one whose steps drift is one for some elements. */
	if (row->elements < UNBOUNDED)
		count = min_of(count, row->elements);
	else if (stream->regular < REGULAR_MAX)
		count = min_of(count, max_of(stream->regular, ELEMENTS_MIN));
	count = min_of(count, in_file);
	start = place_of(stream->backward, asked);
	if (!count || start >= moment->file_pages) {
		stream->tail = 0;
		return false;
	}
	stream->tail = count;
	stream->frontier = plus(first, count * period);
	a->decision->first.start = start;
	a->decision->first.end = min_of(plus(start, element),
					moment->file_pages);
	a->decision->period = stream->backward ? -(s64)period : (s64)period;
	a->decision->count = count;
	if (through)
		join_ranges(a->decision);
	return true;
}

/* How far a run is expected to go on behind its window. */
static struct rest rest_behind(const struct ra_stream *stream,
			       const struct ra_history *file,
			       const struct ra_moment *moment)
{
	struct rest rest = { .kind = REST_UNKNOWN };

	if (!is_run(stream))
		return rest;
	/* An arm that one reader has to itself, and goes on, is there already. */
	rest = rest_of_run(file, run_pages(stream),
			   has_only_arm(moment) && !stream->backward ?
			   0 : pages_per_access(&moment->device));
	rest.pages = minus(rest.pages, minus(stream->frontier, stream->next));
	return rest;
}

/*
 * Pages that it costs to read what all accesses cost that a run could have
 * been spared up to here. More is not asked for while nothing else is known:
 * what a long read costs is its transfer, which nothing saves. A scan from the
 * front of the file is believed to go on.
 */
static u64 earned_by(const struct ra_stream *stream, u64 length,
		     const struct ra_device *device)
{
	u64 run = run_pages(stream), reads, spared;

	if (!is_run(stream) || stream->next <= run)
		return UNBOUNDED;
	/* The last one of a run is often shorter than those before it. */
	length = max_of(max_of(length, step_of(stream)), 1);
	reads = div64_u64(run + length - 1, length);
	spared = times(pages_per_access(device), ACCESSES_SPARED);
	return max_of(times(reads, spared), FIRST_REQUEST_PAGES);
}

/*
 * Most that a run asks for at once of which is not known how far it goes on:
 * as much as it has read. More is believed of it where the program said so;
 * requests out of order hide how far it has come; and where an arm has to be
 * sent there for each request, that is what counts.
 */
static u64 as_far_as_it_came(const struct ra_stream *stream, u64 length,
			     const struct ra_moment *moment)
{
	bool positioned = (stream->backward || moment->contested ||
			   moment->streams > 1) &&
			  is_positioned_for(&moment->device);
	u64 times = stream->shape == RA_SHUFFLED ? SHUFFLED_TIMES : 1;

	if (moment->sequential || stream->hits == 1)
		return UNBOUNDED;
	if (stream->shape != RA_SHUFFLED &&
	    (stream->shape != RA_RUN || positioned))
		return UNBOUNDED;
	return max_of(max_of(run_pages(stream) * times, FIRST_REQUEST_PAGES),
		      length * 2);
}

/*
 * Pages that a run asks for which has the device to itself, so that it has as
 * many in front of its reader as he consumes in an access: the next request is
 * under way while this one is transferred. More brings him nothing where it is
 * the bandwidth that he waits for, and lies in vain behind the end of the run.
 * An arm that is alone and reads on where it is takes no time to get there, as
 * long as it shows that it is one. Who is late, and not by the bandwidth, has a
 * device whose accesses take longer than is believed.
 */
static u64 enough_alone(const struct ra_stream *stream, struct ra_range access,
			const struct need *need, bool has_rate, bool bound,
			const struct ra_moment *moment)
{
	const struct ra_device *device = &moment->device;
	bool there = has_only_arm(moment) &&
		     (bound || !(stream->served & SERVED_WAITED));
	u64 length = length_of(access);
	u64 cut = in_pieces(length + ALIGN_PAGES / 8) < ALIGN_PAGES * 2 ?
		  ALIGN_PAGES / 8 : ALIGN_PAGES;
	u64 lead = max_of(length + cut, run_pages(stream) / ENOUGH_PARTS);
	u64 under_way = 0;

	if (!there && has_rate) {
		u64 newest = max_of(stream->tail, FIRST_REQUEST_PAGES);

		/* What had come before seems faster once, and a pause slower. */
		under_way = consumed_in(need, device->access_ns +
					      device->access_ns / 4);
		under_way = times(under_way, need->boosted ? WAIT_FACTOR : 1);
		under_way = max_of(min_of(under_way, newest * 2), newest / 2);
	} else if (!there) {
		under_way = pages_per_access(device);
	}
	lead = max_of(under_way, lead);
	lead = max_of(minus(lead, minus(stream->frontier, access.end)), 1);
	return in_pieces(lead);
}

static u8 reason_of(const struct ra_stream *stream, bool first, u8 cached,
		    bool boosted)
{
	if (stream->served & SERVED_THRASHED)
		return RA_THRASHED;
	if (first)
		return RA_STREAM_BEGAN;
	if (cached > 1)
		return RA_ALREADY_CACHED;
	return boosted ? RA_READER_WAITED : RA_MARKER_CROSSED;
}

/*
 * Whether a reader is about as fast as the device delivers. Who has an arm
 * alone, and reads on where that is, seems up to a third slower between one
 * request and the next, which come as wholes, and the bandwidth of an arm is
 * often a guess; who waits until it is positioned gets far less.
 */
static bool is_rate_of(const struct ra_device *device, u32 pages, u64 time_ns,
		       bool arm_alone)
{
	return times(transfer_ns(device, pages), arm_alone ? 9 : 4) >=
	       times(time_ns, arm_alone ? 5 : 3);
}

/* Asks for the next request of a stream. */
static void ask_stream(struct arrival *a, unsigned int place,
		       struct row_part *row)
{
	struct ra_stream *stream = &a->streams[place];
	const struct ra_moment *moment = a->moment;
	struct ra_decision *decision = a->decision;
	struct need need = {
		.positioned = is_run(stream) && stream->backward,
		.boosted = stream->served & SERVED_BOOSTED,
		.length = to_u32(length_of(a->access)),
		.request = stream->request,
	};
	bool alone = is_forward_run(stream) && !moment->contested;
	bool arm_alone = alone && is_positioned_for(&moment->device);
	bool bound, calm, exact = false, probe = false, first, asked, expected;
	bool has_rate;
	u8 cached = cached_requests(stream);
	u64 limit, size, pages, least = 0, enough = UNBOUNDED;
	struct rest rest;
	u32 next;

	need.has_rate = rate_of(stream, a->now_ns, &need.rate_pages,
				&need.rate_ns);
	/* Who gets what the device can give gets no more by asking for more. */
	bound = need.has_rate &&
		is_rate_of(&moment->device, need.rate_pages, need.rate_ns,
			   arm_alone);
	need.boosted = need.boosted && !bound;
	/*
	 * What waits have made of the next request is taken back. The newest
	 * one of what is in memory is a probe of some pages.
	 */
	if (bound && alone && stream->tail && !cached) {
		u32 most = next_size_of_content(stream, stream->tail, UNBOUNDED,
						arm_alone);

		need.request = min_of(need.request, most);
		stream->request = need.request;
	}
	has_rate = need.has_rate;
	/* The rate of one that has waited is not its own. */
	need.has_rate = need.has_rate && is_run(stream) &&
			!(stream->served & SERVED_WAITED);
	limit = limit_kept(stream, &need, moment, a->file->thrash_pages);
	if (!limit) {
		decision->reason = RA_MEMORY_SHORT;
		return;
	}
	decision->reason = RA_END_OF_FILE;
	if (a->access.start >= moment->file_pages)
		return;
	expected = row_part_of(a->file, stream, place, &need, moment, row);
	/* An arm that goes down each column passes by as often. */
	if (!(expected && row->wider) &&
	    goes_with_arm(stream, a->now_ns, &moment->device)) {
		decision->reason = RA_DOES_NOT_PAY;
		return;
	}
	size = FIRST_REQUEST_PAGES * (moment->sequential ? SEQUENTIAL_FACTOR : 1);
	size = max_of(max_of(size, need.request), (u64)need.length * 2);
	size = min_of(size, limit);
	rest = rest_behind(stream, a->file, moment);
	if (alone && stream->shape == RA_RUN && !a->in_turn &&
	    !moment->sequential)
		enough = enough_alone(stream, a->access, &need,
				      has_rate, bound, moment);
	if (rest.kind == REST_UNKNOWN || rest.kind == REST_AS_FAR_AGAIN) {
		u64 length = length_of(a->access);
		u64 earned = earned_by(stream, length, &moment->device);

		if (earned < length) {
			decision->reason = RA_READS_ARE_LONG;
			return;
		}
		size = min_of(size, earned);
		if (rest.kind == REST_UNKNOWN)
			size = min_of(size, as_far_as_it_came(stream, length,
							      moment));
		if (stream->next > run_pages(stream))
			size = min_of(size, enough);
	}
	pages = size;
	if (rest.kind == REST_AS_FAR_AGAIN) {
		/* Not in many small pieces. */
		pages = min_of(rest.pages, size);
		least = max_of(run_pages(stream) / 2, FIRST_REQUEST_PAGES);
		least = min_of(least, size);
	} else if (rest.kind == REST_PAGES) {
		pages = min_of(rest.pages, limit);
		least = REQUEST_PAGES_WORTH;
		exact = rest.pages <= limit;
	} else if (rest.kind == REST_LIKELY) {
		u64 most = min_of(limit, enough);

		pages = min_of(rest.pages, most);
		least = REQUEST_PAGES_WORTH;
		exact = rest.pages <= most;
	}
	if (pages < least) {
		decision->reason = RA_RUN_ENDS;
		return;
	}
	if (!expected) {
		decision->reason = RA_RUN_ENDS;
		return;
	}
	first = !stream->request;
	if (stream->shape == RA_STRIDED)
		asked = extend_strided(stream, a, pages, limit, row);
	else
		asked = extend_run(stream, a, pages, &rest, exact, &probe);
	/* Who has all that the device gives, or does not wait. */
	calm = moment->streams <= 1 && !cached &&
	       !(stream->served & SERVED_WAITED);
	if ((bound || calm) && alone)
		next = next_size_of_content(stream, pages, limit, arm_alone);
	else
		next = next_size(pages, limit);
	stream->request = to_u16(next);
	if (!asked)
		return;
	take_row_part(a->file, row);
	decision->reason = reason_of(stream, first, cached, need.boosted);
	stream->served &= ~(SERVED_WAITED | SERVED_THRASHED | SERVED_PROBING);
	if (probe)
		stream->served |= SERVED_PROBING;
	restart_pace(stream, pages_before(stream), a->now_ns);
}

/* Nothing beyond the end of the file; of strided ranges the first is left. */
static void clip_decision(struct ra_decision *decision, u64 file_pages)
{
	if (decision->first.end <= file_pages)
		return;
	decision->first.end = file_pages;
	decision->period = 0;
	decision->count = decision->first.start < file_pages;
}

static u8 refusal(const struct ra_history *file, const struct ra_stream *stream,
		  unsigned int place, u64 hole, const struct ra_moment *moment)
{
	bool rows = is_followed(file, stream, place) && rows_known(file);

	if (!moment->ratio)
		return RA_TURNED_OFF;
	if (moment->ratio == 1)
		return RA_LEFT_TO_STOCK;
	if (!is_trusted(stream,
			rows ? 0 : elements_needed(file->stride_doublings)))
		return RA_NO_PATTERN;
	if (file->debt > DEBT_PAGES_MAX)
		return RA_HIT_RATE_LIMIT;
	if (stream->shape != RA_STRIDED && has_holes(stream) &&
	    !holes_pay(stream, hole, moment))
		return RA_LEFT_TO_STOCK;
	return RA_NOT_LOOKED_AT;
}

/* The page at the marker of a stream that has asked for something. */
static void set_mark(struct ra_decision *decision,
		     const struct ra_stream *stream, s64 gap)
{
	u64 marker = further(marker_of(stream), gap);

	decision->has_mark = stream->tail > 0;
	if (stream->shape == RA_STRIDED || !stream->backward)
		decision->mark = place_of(stream->backward, marker);
	else
		decision->mark = place_of(true, marker + 1);
}

/* The remembered access is not one of those that come with each element. */
static bool is_by_itself(const struct ra_history *file,
			 const struct ra_unexplained *one, u64 period)
{
	unsigned int at;

	for (at = 0; at < RA_REMEMBERED; at++) {
		const struct ra_unexplained *other = &file->recent[at];

		if (other->length == one->length &&
		    distance_of(other->start, one->start) == period)
			return false;
	}
	return true;
}

/*
 * Whether the reader of a stride reads other things among its elements, and not
 * with each of them: an arm would come back for each from what was asked for
 * ahead of it.
 */
static bool looks_between(const struct arrival *a,
			  const struct ra_stream *stream)
{
	u64 elements, far;
	unsigned int at;

	if (stream->shape != RA_STRIDED || stream->backward ||
	    !has_one_arm(&a->moment->device))
		return false;
	elements = minus(stream->regular, ELEMENTS_OF_BEGIN);
	far = times(stream->step, min_of(elements, ELEMENTS_LOOKED_AT));
	for (at = 0; at < RA_REMEMBERED; at++) {
		const struct ra_unexplained *one = &a->file->recent[at];
		u64 way = minus(a->access.start, one->start);

		/* One as long as they are is an element that is off. */
		if (!one->length || one->length == stream->began || !way ||
		    way > far)
			continue;
		/* More of an element than is asked for. */
		if (divides(stream->step, way) && one->length > stream->began)
			return true;
		if (is_by_itself(a->file, one, stream->step))
			return true;
	}
	return false;
}

static void ask(struct arrival *a, unsigned int place)
{
	struct ra_stream *stream = &a->streams[place];
	struct ra_decision *decision = a->decision;
	struct ra_history *file = a->file;
	struct row_part row = {};

	decision->stream = place;
	decision->generation = stream->generation;
	decision->backward = stream->backward;
	decision->reason = refusal(file, stream, place, a->hole, a->moment);
	if (decision->reason != RA_NOT_LOOKED_AT)
		return;
	if (looks_between(a, stream)) {
		decision->reason = RA_DOES_NOT_PAY;
		return;
	}
	ask_stream(a, place, &row);
	if (a->access.start < stream->request && is_forward_run(stream))
		file->scan_request = stream->request;
	/* Memory may have come back: creep up. */
	if (file->thrash_pages)
		file->thrash_pages = to_u32((u64)file->thrash_pages +
					    file->thrash_pages / 128 + 1);
	if (!decision->count)
		return;
	clip_decision(decision, a->moment->file_pages);
	set_mark(decision, stream, row.gap);
}

/* --- one access --------------------------------------------------------- */

static void unexplained(struct arrival *a)
{
	struct ra_history *file = a->file;

	file->unexplained_run = to_u16((u32)file->unexplained_run + 1);
	a->decision->reason = file->unexplained_run >= RANDOM_RUN ?
				      RA_RANDOM_READS : RA_NO_PATTERN;
}

/* A run that seemed to have ended goes on, or a new one begins nearby. */
static void resume(struct arrival *a, struct ra_stream *stream)
{
	if (fit_of(stream, a->access) == FIT_EXACT)
		a->file->run_known = 0;
	else
		stream->began = (u32)span_of(stream, a->access).start;
}

/* A stride broke with elements on their way: the next one has more to show. */
static void stride_broken(struct ra_history *file)
{
	file->stride_doublings = min_of(file->stride_doublings + 1U,
					DOUBLINGS_MAX);
}

/* The stream took a step. One that lasts takes a doubling back, once. */
static void learn_stride(struct ra_history *file,
			 const struct ra_stream *stream,
			 const struct step *step)
{
	if (step->broke && step->lost)
		stride_broken(file);
	else if (file->stride_doublings && stream->shape == RA_STRIDED &&
		 stream->regular == elements_needed(file->stride_doublings + 1))
		file->stride_doublings--;
}

/*
 * The access begins a stride of @period. One of this period, or of one that
 * differs by a page, that has not moved since, and among or soon behind whose
 * elements the reader is, beside them, is the same one, whose steps drift. One
 * that keeps in step is not beyond the next element.
 */
static void end_overtaken(struct arrival *a, bool backward, u64 period)
{
	u64 at = place_of(backward, a->access.start);
	unsigned int place;

	for (place = 0; place < a->places; place++) {
		struct ra_stream *stream = &a->streams[place];

		if (stream->shape != RA_STRIDED ||
		    stream->backward != backward ||
		    distance_of(stream->step, period) > 1 ||
		    a->file->tick - stream->last_used < ELEMENTS_SEEN ||
		    at < plus(stream->next, stream->step - stream->step / 2) ||
		    at >= plus(stream->frontier,
			       minus(stream->frontier, stream->next)) ||
		    divides(stream->step, distance_of(at, stream->next)))
			continue;
		stride_broken(a->file);
		give_up(a->file, stream, place);
	}
}

/*
 * The run at @place became a stride by @step: what was read since the element
 * before are elements of others.
 */
static void begin_others(struct arrival *a, unsigned int place, s64 step)
{
	u64 before = a->access.start - (u64)step;
	u64 period = step < 0 ? -(u64)step : (u64)step;
	struct ra_range others[RA_STREAMS_FEW - 1];
	unsigned int count = 0, back, other;

	for (back = 1; back < RA_REMEMBERED; back++) {
		const struct ra_unexplained *one = recent_back(a->file, back);
		bool again = one->start == a->access.start;

		if (one->start == before || !one->length)
			break;
		/* One that was read again is no other one. */
		for (other = 0; other < count; other++)
			again |= divides(period,
					 distance_of(others[other].start,
						     one->start));
		if (again)
			continue;
		if (count == RA_STREAMS_FEW - 1)
			break;
		others[count].start = one->start;
		others[count++].end = one->start + one->length;
	}
	for (other = 0; other < count; other++) {
		int free = free_place(a, place);

		if (free < 0)
			return;
		become_strided(a, free, others[other], step);
		believe(&a->streams[free]);
	}
}

/*
 * The wide stride has more elements than there can be streams: what touches its
 * first ones begins no run there, it is the next column.
 */
static void end_candidates(struct arrival *a, const struct ra_stream *stride)
{
	unsigned int place;

	for (place = 0; place < a->places; place++) {
		struct ra_stream *stream = &a->streams[place];
		u64 at = place_of(stride->backward, stream->frontier);

		if (is_candidate(stream) &&
		    divides(stride->step, distance_of(at, stride->next)))
			vacate(stream, place);
	}
}

/*
 * The stream has asked: strides inside of what a run reads, that is no young
 * one, are parts of it.
 */
static void end_strides_inside(struct arrival *a, const struct ra_stream *run)
{
	unsigned int place;

	if (!is_run(run) || run->backward || run->hits < ESTABLISHED_HITS)
		return;
	for (place = 0; place < a->places; place++) {
		struct ra_stream *stream = &a->streams[place];

		u64 ahead = minus(stream->frontier,
				  max_of(stream->next, run->frontier));

		if (stream->shape != RA_STRIDED || stream->backward ||
		    is_wide_stride(stream) ||
		    !within(stream->next, minus(run->next, REORDER_PAGES),
			    run->frontier))
			continue;
		/* What was asked for behind what the run was. */
		ahead = div64_u64(ahead, max_of(stream->step, 1));
		lose(a->file, to_u32(times(ahead, max_of(stream->began, 1))));
		vacate(stream, place);
	}
}

/*
 * The access lies before the begin of a run, and not further behind its reader
 * than what comes out of order: what seemed to be the end of the one before was
 * none.
 */
static bool continues_the_one_before(const struct ra_stream *stream,
				     struct ra_range access)
{
	return is_forward_run(stream) &&
	       access.end <= minus(stream->next, run_pages(stream)) &&
	       !has_passed_long(stream, access);
}

static void take_run_back(struct arrival *a, struct ra_stream *stream)
{
	struct ra_history *file = a->file;

	stream->began = (u32)span_of(stream, a->access).start;
	file->run_newest = (file->run_newest + RA_REMEMBERED - 1) %
			   RA_REMEMBERED;
	if (file->run_known)
		file->run_known--;
}

static void continue_stream(struct arrival *a, unsigned int place)
{
	struct ra_stream *stream = &a->streams[place];
	struct ra_decision *decision = a->decision;
	struct ra_history *file = a->file;
	struct step step;
	bool crossed, returned, followed, passed;
	u64 expected, period, length;
	s64 turn = turn_of(a, place);
	u32 others, elements;

	decision->covered = covers(stream, a->access);
	a->hole = is_run(stream) ?
		  minus(span_of(stream, a->access).start, stream->next) : 0;
	if (!a->begins_run && has_ended(stream))
		resume(a, stream);
	else if (continues_the_one_before(stream, a->access))
		take_run_back(a, stream);
	/* From there on was read before: nothing is asked for. */
	passed = has_passed_long(stream, a->access);
	others = minus(file->tick - stream->last_used, 1);
	returned = others;
	a->in_turn = others;
	followed = is_followed(file, stream, place);
	expected = stream->next;
	period = stream->step;
	length = stream->began;
	elements = stream->shape == RA_STRIDED ? stream->regular : 0;
	/* An element that takes more than those that were asked for. */
	if (stream->shape == RA_STRIDED && stream->frontier > stream->next &&
	    length_of(a->access) > (u64)stream->began + 1)
		remember(file, a->access);
	step = advance(stream, a->access, has_waited_lately(file), turn,
		       file->tick);
	lose(file, step.lost);
	learn_stride(file, stream, &step);
	if (step.takes_turns)
		begin_others(a, place, turn);
	if (take_row_step(a, place, followed, period, length, expected))
		returned = true;
	if (is_wide_stride(stream) && elements == ROUND_MOST &&
	    stream->regular == ROUND_MOST + 1)
		end_candidates(a, stream);
	time_stride(stream, a->now_ns, others, returned);
	file->unexplained_run = 0;
	crossed = marker_crossed(stream) && !passed;
	if (crossed || file->debt || has_holes(stream))
		settle(file, &step, length_of(a->access), decision->covered,
		       a->moment->hit_rate);
	decision->stream = place;
	decision->generation = stream->generation;
	decision->reason = RA_MARKER_NOT_REACHED;
	if (!crossed)
		return;
	ask(a, place);
	if (decision->count)
		end_strides_inside(a, stream);
}

/* Something else was read before the candidate, and did not go on since. */
static bool others_stopped(const struct arrival *a, unsigned int place)
{
	u32 tick = a->file->tick;
	u32 idle = tick - a->streams[place].last_used;
	unsigned int other;

	for (other = 0; other < a->places; other++) {
		const struct ra_stream *stream = &a->streams[other];

		if (other != place && stream->shape != RA_VACANT &&
		    tick - stream->last_used > idle)
			return true;
	}
	return false;
}

/*
 * Something continues the access at page @start. If that was an element of a
 * wide stride, the stride was a round over several streams: unless it has more
 * elements than there can be streams. Columns of a matrix touch, too.
 */
static void unmask_rounds(struct arrival *a, u64 start)
{
	unsigned int place;

	for (place = 0; place < a->places; place++) {
		struct ra_stream *stream = &a->streams[place];
		u64 at = place_of(stream->backward, start);

		if (!is_wide_stride(stream) ||
		    stream->regular > ROUND_MOST ||
		    !divides(stream->step, distance_of(at, stream->next)))
			continue;
		a->file->rounds_seen = a->file->tick ? a->file->tick : 1;
		give_up(a->file, stream, place);
	}
}

/* A run has ended, and so many pages were asked for in vain behind its end. */
static void run_left(struct ra_history *file, u32 pages, u64 lost)
{
	run_ended(file, pages);
	lose(file, lost);
	/* Something was learned that would have avoided it. */
	if (file->run_known == RUNS_BELIEVED)
		file->debt = min_of(file->debt, DEBT_PAGES_MAX);
}

/* A run began: others that have not moved for some rounds have ended. */
static void end_runs(struct arrival *a, unsigned int place)
{
	struct ra_history *file = a->file;
	unsigned int other;
	u64 round = 0;

	for (other = 0; other < a->places; other++)
		round += goes_on(&a->streams[other]);
	for (other = 0; other < a->places; other++) {
		struct ra_stream *stream = &a->streams[other];
		u32 idle = file->tick - stream->last_used;

		if (other == place || !goes_on(stream) ||
		    idle <= round * ROUNDS_MISSED)
			continue;
		run_left(file, run_pages(stream), unread_of(stream));
		stream->began = (u32)stream->next;
		forget_window(stream);
		stream->request = 0;
	}
}

/* Another stream in whose window the one at @place runs, or -1. */
static int leader_of(const struct arrival *a, unsigned int place)
{
	const struct ra_stream *follower = &a->streams[place];
	unsigned int other;

	if (!is_run(follower))
		return -1;
	for (other = 0; other < a->places; other++) {
		const struct ra_stream *stream = &a->streams[other];

		if (other != place && is_run(stream) &&
		    stream->backward == follower->backward &&
		    within(follower->next, minus(stream->next, REORDER_PAGES),
			   stream->frontier))
			return other;
	}
	return -1;
}

/* The access continues a stream that is not the one that was expected. */
static void continue_at(struct arrival *a, unsigned int place)
{
	struct ra_history *file = a->file;
	struct ra_stream *stream = &a->streams[place];
	bool was_candidate = is_candidate(stream);
	u64 began = stream->frontier;
	int leader;

	if (file->last < a->places)
		a->streams[file->last].successor = place;
	if (was_candidate) {
		bool touches = a->access.start <= stream->next &&
			       a->access.end >= began;
		bool again = a->access.start >= began &&
			     a->access.end <= stream->next;

		/* Not so where another field of a record is read next. */
		if (touches && !again)
			unmask_rounds(a, began);
		file->run_doubted |= others_stopped(a, place);
	} else if (file->last != place && stream->hits != 1) {
		file->run_doubted = false;
	}
	file->last = place;
	if (is_doubtful(stream))
		add_candidate(a, place);
	continue_stream(a, place);
	if (stream->hits != 1)
		return;
	end_runs(a, place);
	if (!a->decision->count)
		return;
	/* Two threads of one reader: windows would bring the same pages in. */
	leader = leader_of(a, place);
	if (leader < 0)
		return;
	vacate(stream, place);
	file->last = leader;
	*a->decision = (struct ra_decision){
		.reason = RA_MARKER_NOT_REACHED,
		.stream = leader,
		.generation = a->streams[leader].generation,
	};
}

/*
 * The access lies in the window of a stream, far ahead of its reader. Some in
 * a row that follow each other are the reader, which has left something out.
 */
static void on_stray(struct arrival *a, unsigned int place)
{
	struct ra_history *file = a->file;
	struct ra_stream *stream = &a->streams[place];
	struct ra_range span = span_of(stream, a->access);
	u64 began, passed;

	if (file->stray_place != place || file->stray_tick + 1 != file->tick ||
	    file->stray_next != span.start) {
		file->stray_pages = 0;
		file->stray_count = 0;
	}
	file->stray_next = span.end;
	file->stray_tick = file->tick;
	file->stray_place = place;
	file->stray_pages = to_u32(plus(file->stray_pages,
					to_u32(length_of(span))));
	file->stray_count++;
	if (file->stray_count < STRAYS_MAX) {
		a->decision->reason = RA_MARKER_NOT_REACHED;
		a->decision->stream = place;
		a->decision->generation = stream->generation;
		a->decision->covered = true;
		return;
	}
	file->stray_count = 0;
	run_ended(file, run_pages(stream));
	began = minus(span.end, file->stray_pages);
	passed = minus(began, stream->next);
	stream->began = (u32)began;
	stream->next = span.start;
	lose(file, to_u32(passed));
	file->last = place;
	a->begins_run = true;
	continue_stream(a, place);
}

/*
 * A run, in order and nearly without holes, has ended, as one towards the end of
 * the file begins with the access, a hole ahead. Where a new run costs its first
 * accesses a shorter hole is read through; but arms that a reader has to itself
 * pass over it anyway, and ask for less in vain if they know how long runs are.
 */
static bool is_left_for(const struct ra_stream *stream, struct ra_range access,
			const struct ra_moment *moment)
{
	u64 hole = minus(access.start, stream->next);

	if (stream->shape != RA_RUN || stream->backward || stream->disorder ||
	    stream->hits < ESTABLISHED_HITS || hole <= HOLE_OF_RUN_PAGES)
		return false;
	return (is_slow_to_access(&moment->device) && !moment->contested) ||
	       hole > times(pages_per_access(&moment->device),
			    ACCESSES_OF_BEGIN);
}

/* What was asked for from the access on is that of the run that begins. */
static void begin_anew(struct arrival *a, unsigned int place)
{
	struct ra_stream *stream = &a->streams[place];
	u64 passed = a->access.start - stream->next;
	u64 unread = min_of(unread_of(stream), passed);

	/* One read is no run yet, and may be an element of a stride. */
	if (run_pages(stream) <= stream->length) {
		stream->began = (u32)a->access.start;
		return;
	}
	run_left(a->file, run_pages(stream), unread);
	stream->began = (u32)a->access.start;
	stream->next = a->access.start;
	/* What was not asked for was not consumed either. */
	if (is_paced(stream))
		stream->pace_place += (u32)(passed - unread);
	a->begins_run = true;
}

/* No stream explains the access. */
static void begin(struct arrival *a)
{
	struct ra_history *file = a->file;
	u32 since_rounds = file->tick - file->rounds_seen;
	bool rounds = since_rounds < ROUNDS_REMEMBERED && file->rounds_seen;
	s64 step = recent_step(file, a->access);
	u64 period = step < 0 ? -(u64)step : (u64)step;
	struct ra_stream *stream;
	int place;

	if (period >= PERIOD_MAX || (rounds && period > YOUNG_GAP_PAGES))
		step = 0;
	remember(file, a->access);
	place = add_candidate(a, -1);
	if (step) {
		struct new_row row = new_row_of(a, step < 0, period,
						length_of(a->access),
						ELEMENTS_SEEN);
		enum follows follows = end_last_row(a, &row);

		/* Arms that are not sent away are soon at what follows. */
		if (is_positioned_for(&a->moment->device) ||
		    (step > 0 && is_slow_to_access(&a->moment->device)))
			end_overtaken(a, step < 0, period);
		place = free_place(a, place);
		if (place >= 0) {
			become_strided(a, place, a->access, step);
			begin_row(a, place, &row, follows);
		}
		unexplained(a);
		return;
	}
	if (place < 0 || a->access.start || !file->scan_request) {
		unexplained(a);
		return;
	}
	/* The file was read from its start before. */
	stream = &a->streams[place];
	stream->hits = 1;
	stream->frontier = a->access.start;
	stream->tail = 0;
	stream->request = to_u16(min_of(file->scan_request,
					SCAN_AGAIN_PAGES_MAX));
	stream->began = (u32)a->access.start;
	stream->shape = RA_RUN;
	file->last = place;
	ask(a, place);
	if (a->decision->count)
		a->decision->reason = RA_REOPENED;
}

/*
 * Nothing has waited for long, so all is in memory: only eight accesses of 256
 * are looked at. Unless nothing waits because the stream whose turn it is
 * moves inside its window.
 */
static bool is_calm(const struct ra_history *file, u32 tick,
		    const struct ra_stream *expected)
{
	return tick - file->last_busy >= CALM_ACCESSES && (tick & 255) >= 8 &&
	       (tick - expected->last_used >= CALM_ACCESSES ||
		!unread_of(expected));
}

/* The place of the stream that followed the newest one the last time. */
static unsigned int hint_of(const struct ra_history *file,
			    const struct ra_stream *streams,
			    unsigned int places)
{
	return file->last < places ? streams[file->last].successor : 0;
}

/*
 * Which stream fits best: its place, else -1 and the one that lies around. What
 * fills a gap comes before what leaves one, then the shorter way. What it left
 * out long ago only the stream of the newest access comes back for.
 */
static int find(const struct arrival *a, int *around)
{
	enum fit near_fit = FIT_NONE;
	bool explained = !a->file->unexplained_run;
	bool near_fills = false;
	u64 near_miss = 0;
	unsigned int place;
	int near = -1;

	*around = -1;
	for (place = 0; place < a->places; place++) {
		const struct ra_stream *stream = &a->streams[place];
		enum fit fit = fit_of(stream, a->access);
		bool fills;
		u64 miss;

		if (fit == FIT_EXACT && !is_candidate(stream))
			return place;
		if (fit == FIT_NONE) {
			if (*around < 0 && holds(stream, a->access))
				*around = place;
			continue;
		}
		if (fit == FIT_NEAR && !(place == a->file->last && explained) &&
		    fills_gap(stream, a->access, true))
			continue;
		fills = fills_gap(stream, a->access, false);
		miss = miss_of(stream, a->access);
		if (near < 0 || fit > near_fit ||
		    (fit == near_fit && fills > near_fills) ||
		    (fit == near_fit && fills == near_fills &&
		     miss < near_miss)) {
			near = place;
			near_fit = fit;
			near_fills = fills;
			near_miss = miss;
		}
	}
	return near;
}

/**
 * ra_core_quick - the fast path of ra_core_access()
 * @file: what is known of the file
 * @streams: its table
 * @places: of the table
 * @access: the pages of the access
 *
 * Answers what asks for nothing: the exact step of a learned stream inside its
 * window, and most accesses to a file in which nothing waits.
 *
 * Return: false: nothing was changed, and ra_core_access() has to look at it.
 */
bool ra_core_quick(struct ra_history *file, struct ra_stream *streams,
		   unsigned int places, struct ra_range access)
{
	u32 tick = file->tick + 1;
	unsigned int hint = hint_of(file, streams, places);
	struct ra_stream *stream;
	struct ra_range span;

	if (hint >= places || access.end > RA_PAGES_MAX ||
	    access.start >= access.end)
		return false;
	stream = &streams[hint];
	span = span_of(stream, access);
	if (is_steady(stream) && span.start == stream->next &&
	    span.end <= marker_of(stream)) {
		stream->next = span.end;
		stream->last_used = tick;
		stream->length = to_u16(length_of(access));
		file->tick = tick;
		file->last = hint;
		file->unexplained_run = 0;
		return true;
	}
	/*
	 * A stream that would have to ask must not be missed. For what it left
	 * out long ago it would not.
	 */
	if (is_calm(file, tick, stream) &&
	    (fit_of(stream, access) == FIT_NONE ||
	     fills_gap(stream, access, true))) {
		file->tick = tick;
		return true;
	}
	return false;
}

/*
 * Steps of a stream that need not be shown. While it is not looked at, others
 * that are as fast take as many each, and none of them may make it stale.
 */
static u32 quiet_steps(const struct ra_stream *streams, unsigned int places)
{
	unsigned int place;
	u32 used = 0;

	if (places > RA_STREAMS_FEW)
		return STALE_ROUNDS;
	for (place = 0; place < places; place++)
		used += streams[place].shape != RA_VACANT;
	return used ? places * STALE_ROUNDS / used : 0;
}

/**
 * ra_core_quiet - how far the reader may go on without being looked at
 * @file: what is known of the file
 * @streams: its table
 * @places: of the table
 * @access: the newest access
 *
 * Steps that the fast path would answer can be left out altogether, if
 * ra_core_catch_up() is told of them before the next access.
 *
 * Return: the first page behind those that may be read in turn, or 0.
 */
u64 ra_core_quiet(const struct ra_history *file,
		  const struct ra_stream *streams, unsigned int places,
		  struct ra_range access)
{
	const struct ra_stream *stream;

	if (file->last >= places)
		return 0;
	stream = &streams[file->last];
	if (!is_steady(stream) || stream->backward ||
	    stream->last_used != file->tick || stream->next != access.end)
		return 0;
	return min_of(marker_of(stream),
		      stream->next + (u64)stream->length *
					     quiet_steps(streams, places));
}

/**
 * ra_core_catch_up - a reader went on without being looked at
 * @file: what is known of the file
 * @streams: its table
 * @places: of the table
 * @next: the first page behind those that it has read in turn
 *
 * The same as ra_core_quick() for each of its accesses, if they were as long as
 * the one before.
 */
void ra_core_catch_up(struct ra_history *file, struct ra_stream *streams,
		      unsigned int places, u64 next)
{
	unsigned int step;

	for (step = 0; step < places; step++) {
		unsigned int place = (file->last + step) % places;
		struct ra_stream *stream = &streams[place];
		u32 length = max_of(stream->length, 1), pages;

		if (!is_steady(stream) || stream->backward)
			continue;
		/* It read nothing since. */
		if (stream->next == next)
			return;
		if (next < stream->next || next > marker_of(stream) ||
		    next - stream->next > (u64)length * QUIET_STEPS)
			continue;
		pages = next - stream->next;
		file->tick += (pages + length - 1) / length;
		file->last = place;
		file->unexplained_run = 0;
		stream->next = next;
		stream->last_used = file->tick;
		stream->successor = place;
		return;
	}
}

/*
 * The file is read from its start again. Runs that reached its end are over:
 * they have not stopped, and what follows is looked at even if nothing waited.
 */
static void retire_finished(struct arrival *a)
{
	unsigned int place;

	for (place = 0; place < a->places; place++) {
		struct ra_stream *stream = &a->streams[place];

		if (!is_forward_run(stream) ||
		    stream->next < a->moment->file_pages)
			continue;
		vacate(stream, place);
		a->file->last_busy = a->file->tick;
	}
}

/**
 * ra_core_access - the program reads pages of a file
 * @file: what is known of the file
 * @streams: its table: always the same one or a longer copy of it
 * @places: of the table, 1 to RA_STREAMS_MANY
 * @access: the pages; called before they are read
 * @now_ns: a clock; it may stand still, then nothing is concluded from it
 * @moment: what else holds
 * @decision: what to do
 */
void ra_core_access(struct ra_history *file, struct ra_stream *streams,
		    unsigned int places, struct ra_range access, u64 now_ns,
		    const struct ra_moment *moment,
		    struct ra_decision *decision)
{
	struct arrival a = {
		.file = file,
		.streams = streams,
		.places = places < PLACES_MAX ? places : PLACES_MAX,
		.access = access,
		.now_ns = now_ns,
		.moment = moment,
		.decision = decision,
	};
	unsigned int hint;
	int found, around;

	*decision = (struct ra_decision){ .stream = RA_NO_STREAM };
	if (!access.start)
		retire_finished(&a);
	if (access.end > RA_PAGES_MAX || access.start > access.end)
		return;
	file->tick++;
	hint = hint_of(file, streams, a.places);
	if (hint < a.places && !is_candidate(&streams[hint]) &&
	    !is_doubtful(&streams[hint]) &&
	    fit_of(&streams[hint], access) == FIT_EXACT) {
		if (file->last != hint)
			file->run_doubted = false;
		file->last = hint;
		continue_stream(&a, hint);
		return;
	}
	if (access.start == access.end || !a.places)
		return;
	if (hint >= a.places || is_calm(file, file->tick, &streams[hint])) {
		unexplained(&a);
		return;
	}
	found = find(&a, &around);
	if (found >= 0 && is_left_for(&a.streams[found], access, moment))
		begin_anew(&a, found);
	if (found >= 0)
		continue_at(&a, found);
	else if (around >= 0)
		on_stray(&a, around);
	else
		begin(&a);
}

/**
 * ra_core_touch - the pages for which a page fault stands
 * @streams: the table of the file
 * @places: of the table
 * @page: the page of the fault
 * @marked: it bears the mark that was set for a decision
 * @around: pages that one fault may map
 *
 * Pages in the cache are mapped several at a time, so that a fault inside a
 * window stands for all pages since the one before: as far as one fault maps,
 * or up to the mark.
 *
 * Return: the pages, for ra_core_access().
 */
struct ra_range ra_core_touch(const struct ra_stream *streams,
			      unsigned int places, u64 page, bool marked,
			      u64 around)
{
	struct ra_range touched = { page, page + 1 };
	unsigned int place;

	if (page >= RA_PAGES_MAX)
		return touched;
	for (place = 0; place < places; place++) {
		const struct ra_stream *stream = &streams[place];
		struct ra_range span = span_of(stream, touched);

		if (!is_run(stream) || span.start <= stream->next ||
		    span.start >= max_of(stream->frontier,
					 plus(stream->next, around)) ||
		    (!marked && span.start - stream->next >= around))
			continue;
		span.start = stream->next;
		return mirrored(stream->backward, span);
	}
	return touched;
}

/*
 * Whether most of a file will be touched is not known before much of it was.
 * Two answers to that.
 *
 * The faults so far have waited for as long as it takes to bring the whole file
 * in by windows: whatever comes, windows from now on cost no more than twice
 * the least.
 *
 * Or the whole file costs but a moment, and is not waited for: windows are
 * tried. Of a hundred faults, as many have to find their page in an earlier
 * window as a page takes less than a window in per cent. Until that can be, the
 * windows must be brought in; if they are of no use until there are twice as
 * many, so much time is lost beside single pages. As windows overlap, up to
 * twice as many as the file has bring all of it in.
 */
static bool whole_file_pays(struct ra_faults *faults,
			    const struct ra_device *device, u64 file_pages)
{
	u64 windows = div64_u64(file_pages, RA_AROUND_PAGES) + 1, lost;
	u64 page_ns = plus(device->access_ns, transfer_ns(device, 1));
	u64 window_ns = plus(device->access_ns,
			     transfer_ns(device, RA_AROUND_PAGES));
	u64 percent = div64_u64(times(minus(window_ns, page_ns), 100),
				max_of(window_ns, 1));

	if (times(faults->total, device->access_ns) >= times(windows, window_ns))
		return true;
	lost = div64_u64(times(windows, percent * 2), 100);
	lost = div64_u64(times(lost, percent), max_of(minus(100, percent), 1));
	if (faults->total < windows / TRIAL_DELAY_PARTS ||
	    div64_u64(faults->windows, 2) >= windows ||
	    times(lost, page_ns) > TRIAL_NS_MAX)
		return false;
	faults->windows++;
	return true;
}

/**
 * ra_core_around - a fault missed that no stream explains
 * @faults: the newest of the file
 * @page: its page
 * @device: the device under the file
 * @file_pages: pages of the file
 * @spare_pages: pages of memory that may hold it
 *
 * Faults that lie anywhere each cost a window for a page; where several lie at
 * each place, a window around the first brings the others. So it does in a
 * file of which most will be touched, if memory can hold it.
 *
 * Return: whether a window around the fault pays.
 */
bool ra_core_around(struct ra_faults *faults, u64 page,
		    const struct ra_device *device, u64 file_pages,
		    u64 spare_pages)
{
	unsigned int known = min_of(faults->count, RA_FAULTS), index;
	unsigned int bits, count = 0;
	bool near = false;

	for (index = 0; index < known; index++)
		near |= distance_of(faults->pages[index], page) <=
			YOUNG_GAP_PAGES;
	faults->near = (u16)(faults->near << 1) | near;
	faults->pages[faults->count % RA_FAULTS] = page;
	faults->count++;
	/* Still at the same place of the ring. */
	if (faults->count >= 2 * RA_FAULTS)
		faults->count -= RA_FAULTS;
	if (faults->total < 0xffffffffU)
		faults->total++;
	if (faults->count < RA_FAULTS)
		return false;
	if (file_pages <= spare_pages &&
	    whole_file_pays(faults, device, file_pages))
		return true;
	for (bits = faults->near; bits; bits &= bits - 1)
		count++;
	return count >= NEAR_FAULTS_MIN;
}

static struct ra_stream *named(struct ra_stream *streams, unsigned int places,
			       const struct ra_decision *decision)
{
	struct ra_stream *stream;

	if (decision->stream >= places)
		return NULL;
	stream = &streams[decision->stream];
	if (stream->generation != decision->generation ||
	    stream->shape == RA_VACANT)
		return NULL;
	return stream;
}

/**
 * ra_core_wait - the read of @access had to wait for the device
 * @file: what is known of the file
 * @streams: its table
 * @places: of the table
 * @decision: what ra_core_access() said of the access
 * @access: the pages
 */
void ra_core_wait(struct ra_history *file, struct ra_stream *streams,
		  unsigned int places, const struct ra_decision *decision,
		  struct ra_range access)
{
	struct ra_stream *stream = named(streams, places, decision);
	struct ra_range span;

	/* One alone may be the processor's; a device makes several wait. */
	if (has_waited_lately(file))
		file->last_busy = file->tick;
	file->last_wait = file->tick;
	if (!stream)
		return;
	stream->served |= SERVED_WAITED;
	if (cached_requests(stream)) {
		/* The part that was in memory is over: back to work. */
		stream->served &= ~(SERVED_CACHED | SERVED_PROBING);
		begin_requests(stream);
		if (is_run(stream)) {
			span = span_of(stream, access);
			stream->frontier = span.end;
			stream->tail = to_u32(length_of(span));
		} else {
			stream->frontier = stream->next;
			stream->tail = 1;
		}
	} else if (decision->covered) {
		u32 request = (u32)stream->request * 2;

		stream->request = to_u16(min_of(request, GROWN_PAGES_MAX));
		stream->served |= SERVED_BOOSTED;
	}
}

/**
 * ra_core_answer - what was asked for has been submitted
 * @file: what is known of the file
 * @streams: its table
 * @places: of the table
 * @decision: what was asked for
 * @was_cached: all of it was in memory already
 */
void ra_core_answer(struct ra_history *file, struct ra_stream *streams,
		    unsigned int places, const struct ra_decision *decision,
		    bool was_cached)
{
	struct ra_stream *stream = named(streams, places, decision);

	if (!was_cached)
		file->last_busy = file->tick;
	if (!stream)
		return;
	if (was_cached) {
		u8 cached = min_of(cached_requests(stream) + 1,
				   SERVED_CACHED_MAX);

		stream->served = (stream->served & ~SERVED_CACHED) | cached;
		return;
	}
	/* What a probe skipped was never asked for. */
	if (stream->served & SERVED_PROBING)
		forget_window(stream);
	stream->served &= ~(SERVED_CACHED | SERVED_PROBING);
}

/**
 * ra_core_refused - what was asked for has not been submitted
 * @streams: the table of the file
 * @places: of the table
 * @decision: what was asked for
 *
 * The window ends where the reader is.
 */
void ra_core_refused(struct ra_stream *streams, unsigned int places,
		     const struct ra_decision *decision)
{
	struct ra_stream *stream = named(streams, places, decision);

	if (stream)
		forget_window(stream);
}

/**
 * ra_core_thrashed - pages of a window were evicted before they were read
 * @file: what is known of the file
 * @streams: its table
 * @places: of the table
 * @decision: what ra_core_access() said of an access that found it out
 * @evicted: how many pages
 */
void ra_core_thrashed(struct ra_history *file, struct ra_stream *streams,
		      unsigned int places, const struct ra_decision *decision,
		      u32 evicted)
{
	struct ra_stream *stream = named(streams, places, decision);
	u64 known = file->thrash_pages ? file->thrash_pages : 0xffffffffU;
	u64 held;

	/* Of what is found in memory only a part was looked at. */
	if (!stream || cached_requests(stream))
		return;
	held = max_of(to_u32(unread_of(stream)), THRASH_PAGES_MIN);
	file->thrash_pages = max_of(min_of(held / 2, known), THRASH_PAGES_MIN);
	stream->request = max_of(stream->request / 2, THRASHED_REQUEST_PAGES);
	stream->served &= ~SERVED_BOOSTED;
	stream->served |= SERVED_THRASHED;
	forget_window(stream);
	owe(file, evicted);
}

/**
 * ra_core_crowded - candidates push each other out
 * @file: what is known of the file
 *
 * Return: whether the table should be copied to one of RA_STREAMS_MANY places.
 */
bool ra_core_crowded(const struct ra_history *file)
{
	return file->evictions >= CROWDED_EVICTIONS;
}

#ifndef __KERNEL__
/* For the comparison in user space. */

/**
 * ra_core_idle - nothing reads the file any more
 * @file: what is known of the file
 * @streams: its table
 * @places: of the table
 *
 * Windows are given up, streams stay for a reopen.
 */
void ra_core_idle(struct ra_history *file, struct ra_stream *streams,
		  unsigned int places)
{
	unsigned int place;
	u64 wasted = 0;

	for (place = 0; place < places; place++) {
		u64 unread = unread_of(&streams[place]);

		if (!unread)
			continue;
		wasted += unread;
		forget_window(&streams[place]);
		begin_requests(&streams[place]);
	}
	lose(file, to_u32(wasted));
}

/**
 * ra_core_windows - windows that have not been read yet
 * @streams: the table of the file
 * @places: of the table
 * @unread: pages in all of them
 *
 * Return: how many streams have one.
 */
u32 ra_core_windows(const struct ra_stream *streams, unsigned int places,
		    u64 *unread)
{
	unsigned int place;
	u32 windows = 0;

	*unread = 0;
	for (place = 0; place < places; place++) {
		u64 pages = unread_of(&streams[place]);

		*unread += pages;
		windows += pages > 0;
	}
	return windows;
}
#endif
