// SPDX-License-Identifier: GPL-2.0
/*
 * The C core as a program.
 *
 *   driver               takes calls from standard input, answers on standard output
 *   driver SEED CALLS    makes random calls, and ends with 1 when something does not hold
 *   driver cost PATTERN COUNT
 *                        reads pages of a known file that is in memory, for counting instructions:
 *                        `in-turn`, `backward`, `anywhere`, or
 *                        `nothing`, which never calls the core
 *
 * A call is CALL_WORDS numbers of 64 bits, an answer ANSWER_WORDS: see ../src/driver.rs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/readahead_core.h"

enum { CALL_WORDS = 17, ANSWER_WORDS = 9 };

/* Bits of a call's flags. */
enum { QUICK = 1, CACHED = 2, WAITS = 4, THRASHES = 8, CONTESTED = 16, SEQUENTIAL = 32, IDLE = 64, REFUSED = 128 };

/* Pages from last_end to quiet_end need not be shown to the core, if they are read in turn. */
struct file {
	struct ra_history history;
	struct ra_stream *streams;
	unsigned int places;
	u64 last_end;
	u64 last_length;
	u64 quiet_end;
};

static void die(const char *what)
{
	fprintf(stderr, "driver: %s\n", what);
	exit(1);
}

static void grow(struct file *file, unsigned int places)
{
	struct ra_stream *streams = calloc(places, sizeof(*streams));

	if (!streams)
		die("no memory");
	if (file->streams)
		memcpy(streams, file->streams, file->places * sizeof(*streams));
	free(file->streams);
	file->streams = streams;
	file->places = places;
}

static void check(int holds, const char *what)
{
	if (!holds)
		die(what);
}

/* What holds of every decision, and of the table after it. */
static void check_decision(const struct file *file, const struct ra_moment *moment,
			   const struct ra_decision *decision, struct ra_range access)
{
	u64 pages = decision->first.end - decision->first.start;
	u64 length = access.end - access.start, unread, index;
	const struct ra_stream *stream;

	check(ra_core_windows(file->streams, file->places, &unread) <= file->places,
	      "more windows than places");
	check(decision->stream == RA_NO_STREAM || decision->stream < file->places,
	      "a stream outside the table");
	check(file->history.run_known <= RA_REMEMBERED, "more runs than remembered");
	check(file->history.debt <= 512 * 16, "a debt without bound");
	if (!decision->count)
		return;
	check(decision->count <= 256, "too many ranges");
	check(decision->first.start < decision->first.end, "an empty range");
	for (index = 0; index < decision->count; index++) {
		u64 start = decision->first.start + (u64)decision->period * index;

		/* A backward stride ends at the start of the file. */
		if (decision->period < 0 && start >= RA_PAGES_MAX)
			break;
		check(start + pages <= moment->file_pages, "a range beyond the end of the file");
	}
	if (decision->stream >= file->places)
		return;
	stream = &file->streams[decision->stream];
	/*
	 * What the reader wants now comes on top, and what lies behind it if it went back (128 pages); found in memory,
	 * windows reach further.
	 */
	if (stream->shape != RA_STRIDED)
		check(pages <= (moment->request_max << (stream->served & 7)) + length + 128,
		      "a request too large");
}

/* As the kernel's filemap_show_read() does. The core takes such steps to be equally long. */
static int is_quiet(struct file *file, struct ra_range access)
{
	int quiet = access.start == file->last_end && access.end <= file->quiet_end &&
		    access.end - access.start == file->last_length;

	if (quiet)
		file->last_end = access.end;
	return quiet;
}

static void catch_up(struct file *file)
{
	if (file->quiet_end)
		ra_core_catch_up(&file->history, file->streams, file->places, file->last_end);
	file->quiet_end = 0;
}

/*
 * After an access. Where streams take turns the kernel lets each descriptor go on; then the core
 * takes another path than for each step, and comes to the same end but for the density of runs.
 */
static void set_quiet(struct file *file, struct ra_range access, const struct ra_decision *decision)
{
	u8 last = file->history.last;

	file->last_end = access.end;
	file->last_length = access.end - access.start;
	if (!decision->count && last < file->places && file->streams[last].successor == last)
		file->quiet_end = ra_core_quiet(&file->history, file->streams, file->places,
						access);
}

static void run_calls(void)
{
	struct file *files = NULL;
	u64 known = 0, call[CALL_WORDS];

	while (fread(call, sizeof(call), 1, stdin) == 1) {
		struct ra_moment moment = {
			.ratio = call[5],
			.hit_rate = call[6],
			.request_max = call[7],
			.device = { call[8], call[9], call[10] },
			.file_pages = call[11],
			.threshold = call[12],
			.available = call[13],
			.streams = call[14],
			.contested = call[4] & CONTESTED,
			.sequential = call[4] & SEQUENTIAL,
		};
		struct ra_range access = { call[1], call[2] };
		struct ra_decision decision = { .stream = RA_NO_STREAM };
		u64 answer[ANSWER_WORDS] = { 0 };
		struct file *file;

		if (call[0] >= known) {
			files = realloc(files, (call[0] + 1) * sizeof(*files));
			if (!files)
				die("no memory");
			memset(files + known, 0, (call[0] + 1 - known) * sizeof(*files));
			known = call[0] + 1;
		}
		file = &files[call[0]];
		if (!file->places)
			grow(file, RA_STREAMS_FEW);
		if (!(call[4] & (WAITS | THRASHES | IDLE)) && is_quiet(file, access)) {
			answer[8] = 1;
			answer[5] = RA_NO_STREAM;
			if (fwrite(answer, sizeof(answer), 1, stdout) != 1)
				die("cannot answer");
			continue;
		}
		catch_up(file);
		if ((call[4] & QUICK) && ra_core_quick(&file->history, file->streams,
						       file->places, access)) {
			answer[8] = 1;
		} else {
			ra_core_access(&file->history, file->streams, file->places, access,
				       call[3], &moment, &decision);
			check_decision(file, &moment, &decision, access);
		}
		answer[0] = decision.count;
		if (decision.count) {
			answer[1] = decision.first.start;
			answer[2] = decision.first.end;
			answer[3] = (u64)decision.period;
			if (call[4] & REFUSED)
				ra_core_refused(file->streams, file->places, &decision);
			else
				ra_core_answer(&file->history, file->streams, file->places,
					       &decision, call[4] & CACHED);
		}
		answer[4] = decision.reason;
		answer[5] = decision.stream;
		answer[6] = decision.generation;
		answer[7] = decision.covered;
		if (call[4] & WAITS)
			ra_core_wait(&file->history, file->streams, file->places, &decision,
				     access);
		if (call[4] & THRASHES)
			ra_core_thrashed(&file->history, file->streams, file->places, &decision,
					 call[15]);
		if (call[4] & IDLE)
			ra_core_idle(&file->history, file->streams, file->places);
		if (call[4] & QUICK)
			set_quiet(file, access, &decision);
		if (file->places < RA_STREAMS_MANY && ra_core_crowded(&file->history))
			grow(file, RA_STREAMS_MANY);
		if (fwrite(answer, sizeof(answer), 1, stdout) != 1)
			die("cannot answer");
	}
	for (u64 index = 0; index < known; index++)
		free(files[index].streams);
	free(files);
}

static u64 drawn;

static u64 below(u64 limit)
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return limit ? drawn % limit : 0;
}

/* Mostly small numbers, sometimes any. */
static u64 any(u64 usual)
{
	switch (below(16)) {
	case 0:
		return below(4);
	case 1:
		return ~below(4);
	case 2:
		return RA_PAGES_MAX - 2 + below(4);
	case 3:
		return 1ULL << below(64);
	default:
		return below(usual);
	}
}

static void make_calls(u64 calls)
{
	struct file file = { .places = 0 };
	struct ra_faults faults = { .count = 0 };
	u64 at = 0, length = 1, step = 1, made;

	for (made = 0; made < calls; made++) {
		struct ra_decision decision;
		struct ra_moment moment = {
			.ratio = below(4) ? 50 : any(200),
			.hit_rate = below(4) ? 2 : any(20),
			.request_max = below(4) ? 2048 : below(65536),
			.device = { any(20000000), any(2000000000), any(64) },
			.file_pages = below(4) ? 1 << 20 : any(1 << 20),
			.threshold = any(1 << 20),
			.available = any(1 << 20),
			.streams = any(64),
			.contested = below(2),
			.sequential = below(2),
		};
		struct ra_range access;

		if (made % 100000 == 0) {
			free(file.streams);
			memset(&file, 0, sizeof(file));
			grow(&file, below(2) ? RA_STREAMS_FEW : RA_STREAMS_MANY);
		}
		if (!below(64)) {
			at = any(1 << 20);
			length = any(64);
			step = below(2) ? length : (below(2) ? -length : any(4096));
		}
		at = below(8) ? at + step : any(1 << 20);
		access.start = at;
		access.end = at + length;
		if (!below(16))
			access = ra_core_touch(file.streams, file.places, at, below(2), any(16));
		ra_core_around(&faults, at, &moment.device, moment.file_pages,
			       moment.available);
		check(faults.count < 2 * RA_FAULTS, "more faults than remembered");
		if (!below(16))
			ra_core_catch_up(&file.history, file.streams, file.places, at);
		if (below(2) && ra_core_quick(&file.history, file.streams, file.places, access))
			continue;
		ra_core_access(&file.history, file.streams, file.places, access,
			       below(4) ? made << 20 : any(1 << 30), &moment, &decision);
		check_decision(&file, &moment, &decision, access);
		if (decision.count)
			ra_core_answer(&file.history, file.streams, file.places, &decision,
				       below(4) == 0);
		if (decision.count && !below(32))
			ra_core_refused(file.streams, file.places, &decision);
		if (!below(16))
			ra_core_wait(&file.history, file.streams, file.places, &decision, access);
		if (!below(64))
			ra_core_thrashed(&file.history, file.streams, file.places, &decision,
					 any(64));
		if (!decision.count)
			check(ra_core_quiet(&file.history, file.streams, file.places, access) <=
			      RA_PAGES_MAX + (1ULL << 32), "quiet beyond every file");
		if (!below(1000))
			ra_core_idle(&file.history, file.streams, file.places);
		if (file.places < RA_STREAMS_MANY && ra_core_crowded(&file.history))
			grow(&file, RA_STREAMS_MANY);
	}
	free(file.streams);
}

/* As the kernel does: what the descriptor may read goes by, the rest is shown. */
static void read_cached(const char *pattern, u64 count)
{
	struct ra_moment moment = {
		.ratio = 50,
		.hit_rate = 2,
		.request_max = 2048,
		.device = { 8000000, 120000000, 1 },
		.file_pages = 1ULL << 40,
		.threshold = 1 << 17,
		.available = 1 << 16,
		.streams = 1,
	};
	int backward = !strcmp(pattern, "backward"), anywhere = !strcmp(pattern, "anywhere");
	struct file file = { .places = 0 };
	u64 index;

	grow(&file, RA_STREAMS_FEW);
	drawn = 1;
	if (!strcmp(pattern, "nothing")) {
		file.last_length = 1;
		file.quiet_end = RA_PAGES_MAX;
	}
	for (index = 0; index < count; index++) {
		struct ra_range access = { .start = index };
		struct ra_decision decision;

		if (backward)
			access.start = (1ULL << 40) - 1 - index;
		else if (anywhere)
			access.start = below(1 << 30);
		access.end = access.start + 1;
		if (is_quiet(&file, access))
			continue;
		catch_up(&file);
		decision.count = 0;
		if (!ra_core_quick(&file.history, file.streams, file.places, access)) {
			ra_core_access(&file.history, file.streams, file.places, access, 0,
				       &moment, &decision);
			if (decision.count)
				ra_core_answer(&file.history, file.streams, file.places,
					       &decision, 1);
		}
		set_quiet(&file, access, &decision);
	}
	free(file.streams);
}

int main(int arguments, char **argument)
{
	if (arguments == 4 && !strcmp(argument[1], "cost")) {
		read_cached(argument[2], strtoull(argument[3], NULL, 10));
	} else if (arguments == 3) {
		drawn = strtoull(argument[1], NULL, 10) * 0x9e3779b97f4a7c15ULL | 1;
		make_calls(strtoull(argument[2], NULL, 10));
	} else {
		run_calls();
	}
	return 0;
}
