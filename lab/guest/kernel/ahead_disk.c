// SPDX-License-Identifier: GPL-2.0
/*
 * A block device whose requests take the time that a model of a disk says, to the nanosecond of the
 * guest's virtual clock. The model is the Rust crate `ahead-disk-model`, linked in: there is one
 * definition of every disk, for the simulator, the emulated disk and this driver.
 *
 * Data comes from an image file of the host, mapped privately: copying costs no virtual time, many
 * guests can share an image, and what a guest writes is gone with it. Writes take their time on the
 * model as reads do.
 *
 *   ahead_disk.model=FILE    the model, TOML; without it there is no disk
 *   ahead_disk.image=FILE    what is on it (default: zeros)
 *   ahead_disk.keeps=1       what is written goes to the image
 *   ahead_disk.faster=N      its time runs faster / slower times as fast as real
 *   ahead_disk.slower=N
 *   ahead_disk.bytes=N       its size
 *   ahead_disk.log=FILE      every request, as struct ahead_disk_log_entry
 *   ahead_disk.depth=N       requests that it takes at once
 *   ahead_disk.request_kib=N the longest request
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <init.h>

#include "ahead_disk.h"

#define TOML_BYTES_MAX 65536
#define LOG_ENTRIES 4096
#define COMPLETIONS_AT_ONCE 32

static char *model_path;
module_param_named(model, model_path, charp, 0444);
static char *image_path = "";
module_param_named(image, image_path, charp, 0444);
static char *log_path;
module_param_named(log, log_path, charp, 0444);
static unsigned long long capacity;
module_param_named(bytes, capacity, ullong, 0444);
static bool keeps;
module_param(keeps, bool, 0444);
static unsigned long long faster = 1;
module_param(faster, ullong, 0444);
static unsigned long long slower = 1;
module_param(slower, ullong, 0444);
static unsigned int depth = 128;
module_param(depth, uint, 0444);
static unsigned int request_kib = 1024;
module_param(request_kib, uint, 0444);

static struct {
	struct blk_mq_tag_set tags;
	struct gendisk *disk;
	char *data;
	/* Of the model, the timer and the log. */
	spinlock_t lock;
	void *model;
	struct hrtimer timer;
	/* How many requests it was given. */
	u64 given;
	struct ahead_disk_log_entry *log;
	unsigned int logged;
	int log_file;
} it = { .log_file = -1 };

/*
 * From the reserves where nothing else is free: what is written frees memory
 * once it is written. Without it the model cannot go on, and its abort() would
 * be an endless loop here.
 */
void *ahead_disk_allocate(unsigned long bytes)
{
	void *memory = kmalloc(bytes, GFP_ATOMIC | __GFP_MEMALLOC);

	if (!memory)
		panic("ahead_disk: no memory for the model of the disk");
	return memory;
}

void ahead_disk_free(void *memory)
{
	kfree(memory);
}

void ahead_disk_die(void)
{
	panic("ahead_disk: the model of the disk failed");
}

static void write_log(void)
{
	unsigned int entries = it.logged;

	it.logged = 0;
	if (it.log_file < 0 || entries == 0)
		return;
	if (ahead_disk_log_write(it.log_file, it.log, entries * sizeof(*it.log)) < 0) {
		pr_err("ahead_disk: the log cannot be written; it ends here\n");
		it.log_file = -1;
	}
}

static void note(struct request *rq, const struct ahead_disk_completion *done)
{
	struct ahead_disk_log_entry *entry;

	if (it.log_file < 0)
		return;
	entry = &it.log[it.logged++];
	entry->arrived_ns = done->arrived_ns;
	entry->completed_ns = done->completed_ns;
	entry->ended_ns = ktime_get_ns();
	entry->offset = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	entry->number = *(u64 *)blk_mq_rq_to_pdu(rq);
	entry->bytes = blk_rq_bytes(rq);
	entry->flags = req_op(rq) == REQ_OP_WRITE;
	if (it.logged == LOG_ENTRIES)
		write_log();
}

/* When the timer is to ring next; with the lock held. */
static ktime_t next_event(void)
{
	u64 next = ahead_disk_model_next(it.model);

	return next == AHEAD_DISK_IDLE ? KTIME_MAX : ns_to_ktime(next);
}

static enum hrtimer_restart on_event(struct hrtimer *timer)
{
	struct ahead_disk_completion done[COMPLETIONS_AT_ONCE];
	struct request *ended[COMPLETIONS_AT_ONCE];
	unsigned long count, i, flags;
	ktime_t next;

	do {
		spin_lock_irqsave(&it.lock, flags);
		count = ahead_disk_model_advance(it.model, ktime_get_ns(), done,
						 COMPLETIONS_AT_ONCE);
		for (i = 0; i < count; i++) {
			ended[i] = blk_mq_tag_to_rq(it.tags.tags[0], done[i].id);
			note(ended[i], &done[i]);
		}
		spin_unlock_irqrestore(&it.lock, flags);
		/* Ending a request can bring the next one in, which takes the lock. */
		for (i = 0; i < count; i++)
			blk_mq_end_request(ended[i], BLK_STS_OK);
	} while (count == COMPLETIONS_AT_ONCE);

	spin_lock_irqsave(&it.lock, flags);
	next = next_event();
	if (next != KTIME_MAX)
		hrtimer_start(timer, next, HRTIMER_MODE_ABS);
	spin_unlock_irqrestore(&it.lock, flags);
	return HRTIMER_NORESTART;
}

static void copy_data(struct request *rq)
{
	char *at = it.data + ((u64)blk_rq_pos(rq) << SECTOR_SHIFT);
	struct req_iterator iterator;
	struct bio_vec part;

	rq_for_each_segment(part, rq, iterator) {
		if (req_op(rq) == REQ_OP_WRITE)
			memcpy_from_bvec(at, &part);
		else
			memcpy_to_bvec(&part, at);
		at += part.bv_len;
	}
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *context,
			     const struct blk_mq_queue_data *data)
{
	struct request *rq = data->rq;
	unsigned long flags;
	ktime_t next;

	blk_mq_start_request(rq);
	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE) {
		blk_mq_end_request(rq, req_op(rq) == REQ_OP_FLUSH ? BLK_STS_OK :
								    BLK_STS_NOTSUPP);
		return BLK_STS_OK;
	}
	copy_data(rq);
	spin_lock_irqsave(&it.lock, flags);
	*(u64 *)blk_mq_rq_to_pdu(rq) = it.given++;
	ahead_disk_model_submit(it.model, ktime_get_ns(), rq->tag,
				(u64)blk_rq_pos(rq) << SECTOR_SHIFT, blk_rq_bytes(rq));
	next = next_event();
	if (next != KTIME_MAX)
		hrtimer_start(&it.timer, next, HRTIMER_MODE_ABS);
	spin_unlock_irqrestore(&it.lock, flags);
	return BLK_STS_OK;
}

static const struct blk_mq_ops queue_ops = {
	.queue_rq = queue_rq,
};

static const struct block_device_operations disk_ops = {
	.owner = THIS_MODULE,
};

static int __init open_model(void)
{
	char *toml = kmalloc(TOML_BYTES_MAX, GFP_KERNEL);
	long length;

	if (!toml)
		return -ENOMEM;
	length = ahead_disk_read_file(model_path, toml, TOML_BYTES_MAX);
	if (length >= 0)
		it.model = ahead_disk_model_open(toml, length, capacity, faster, slower);
	kfree(toml);
	if (length < 0) {
		pr_err("ahead_disk: %s: error %ld\n", model_path, -length);
		return -ENOENT;
	}
	if (!it.model) {
		pr_err("ahead_disk: %s: not a disk model\n", model_path);
		return -EINVAL;
	}
	return 0;
}

static int __init open_files(void)
{
	int error;

	it.data = ahead_disk_map(image_path, capacity, keeps, &error);
	if (!it.data) {
		pr_err("ahead_disk: image %s: error %d\n", image_path, -error);
		return -ENOENT;
	}
	if (!log_path)
		return 0;
	it.log = kmalloc_array(LOG_ENTRIES, sizeof(*it.log), GFP_KERNEL);
	if (!it.log)
		return -ENOMEM;
	it.log_file = ahead_disk_log_open(log_path);
	if (it.log_file < 0) {
		pr_err("ahead_disk: log %s: error %d\n", log_path, -it.log_file);
		return -ENOENT;
	}
	return 0;
}

static int __init add_disk_to_system(void)
{
	int error;

	it.tags.ops = &queue_ops;
	it.tags.nr_hw_queues = 1;
	it.tags.queue_depth = depth;
	/* Beside each request: its number, for the log. */
	it.tags.cmd_size = sizeof(u64);
	it.tags.numa_node = NUMA_NO_NODE;
	it.tags.flags = BLK_MQ_F_SHOULD_MERGE;
	error = blk_mq_alloc_tag_set(&it.tags);
	if (error)
		return error;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	{
		struct queue_limits limits = {
			.logical_block_size = SECTOR_SIZE,
			.physical_block_size = PAGE_SIZE,
			.max_hw_sectors = request_kib * 2,
			.max_user_sectors = request_kib * 2,
			.max_segments = USHRT_MAX,
			.max_segment_size = UINT_MAX,
		};

		if (ahead_disk_model_is_rotational(it.model))
			limits.features |= BLK_FEAT_ROTATIONAL;
		it.disk = blk_mq_alloc_disk(&it.tags, &limits, NULL);
	}
	if (IS_ERR(it.disk))
		return PTR_ERR(it.disk);
#else
	it.disk = blk_mq_alloc_disk(&it.tags, NULL);
	if (IS_ERR(it.disk))
		return PTR_ERR(it.disk);
	blk_queue_logical_block_size(it.disk->queue, SECTOR_SIZE);
	blk_queue_physical_block_size(it.disk->queue, PAGE_SIZE);
	blk_queue_max_hw_sectors(it.disk->queue, request_kib * 2);
	blk_queue_max_segments(it.disk->queue, USHRT_MAX);
	blk_queue_max_segment_size(it.disk->queue, UINT_MAX);
	if (!ahead_disk_model_is_rotational(it.model))
		blk_queue_flag_set(QUEUE_FLAG_NONROT, it.disk->queue);
#endif
	it.disk->fops = &disk_ops;
	strscpy(it.disk->disk_name, "ahead0", sizeof(it.disk->disk_name));
	set_capacity(it.disk, capacity >> SECTOR_SHIFT);
	return add_disk(it.disk);
}

static int __init ahead_disk_init(void)
{
	int error;

	if (!model_path)
		return 0;
	ahead_disk_end_with_parent();
	spin_lock_init(&it.lock);
	hrtimer_init(&it.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	it.timer.function = on_event;
	error = open_model();
	if (!error)
		error = open_files();
	if (!error)
		error = add_disk_to_system();
	return error;
}
late_initcall(ahead_disk_init);

static void ahead_disk_exit(void)
{
	write_log();
}
__uml_exitcall(ahead_disk_exit);
