/* A grid: which clusters are resident, whose turn it is, and how it ends. */
#include "exec.h"

#include <stdio.h>
#include <stdlib.h>

#include "cluster.h"
#include "race.h"
#include "rows.h"

/* Operations before others get their turn. The first turn is long, so that most kernels run from barrier to barrier,
 * and from start to end, without being interrupted; later ones are short, as a warp that still runs may be waiting. */
#define SLICE       ((int64_t)1 << 20) /* of a warp */
#define SLICE_LATER ((int64_t)1 << 13)
#define TURN        ((int64_t)1 << 22) /* of a cluster */
#define TURN_LATER  ((int64_t)1 << 16)

/* A pass over a cluster's warps is quiet if all that run only spin. After QUIET_TURN of them other clusters get their
 * turn; after QUIET_PASSES, more than any loop that counts its tries, the cluster is stalled. */
#define QUIET_PASSES 4096
#define QUIET_TURN   4

#define IDLE_BUDGET   ((uint64_t)1 << 28) /* warp operations without progress after which a grid has no end */
#define RESIDENT_MOST 4096
#define TOGETHER      4 /* clusters that may start at once, in an order by seed */

typedef enum outcome { FINISHED, STALLED, TURN_OVER, FAULTED } outcome;

/* The warp's own loop. Handlers stop it by taking its fuel. */
static void run_warp(sg_warp *w)
{
    const sg_op *const ops = w->ops;
    while (w->fuel-- > 0) {
        const sg_op *op = &ops[w->pc++];
        const uint32_t mask = w->active & sg_mask_of(w, op->guard);
        if (mask == SG_ALL)
            op->full(w, op, mask);
        else if (mask)
            op->masked(w, op, mask);
    }
}

static void run_warp_counting(sg_warp *w)
{
    const sg_op *const ops = w->ops;
    while (w->fuel-- > 0) {
        const sg_op *op = &ops[w->pc++];
        const uint32_t mask = w->active & sg_mask_of(w, op->guard);
        sg_count_operation(w, op, mask);
        if (mask)
            (mask == SG_ALL ? op->full : op->masked)(w, op, mask);
    }
}

/* Operations that the grid may still take, where it has a budget. */
static int64_t budget_left(const sg_machine *machine)
{
    const uint64_t budget = (machine->grid->budget + SG_LANES - 1) / SG_LANES;
    return !budget ? INT64_MAX : machine->operations < budget ? (int64_t)(budget - machine->operations) : 0;
}

/* One go of a warp: until it waits, spins, ends, or has had its slice. */
static int64_t run_slice(sg_warp *w)
{
    const int64_t whole = w->spins ? SLICE_LATER : SLICE, left = budget_left(w->machine);
    const int64_t slice = whole < left ? whole : left;
    w->state = SG_WARP_READY;
    w->fuel = slice;
    w->unspent = 0;
    if (w->machine->counts)
        run_warp_counting(w);
    else
        run_warp(w);
    w->spins = w->state == SG_WARP_READY; /* it did not come to an end: perhaps there is none */
    if (w->state == SG_WARP_READY && w->split_count) {
        sg_split_yield(w); /* another split of this warp may be what this one waits for */
        if (w->state == SG_WARP_YIELDED)
            w->state = SG_WARP_READY;
    }
    const int64_t spent = slice - w->unspent;
    w->machine->operations += (uint64_t)spent;
    return spent;
}

/* All warps of a cluster once. quiet: nobody did anything but spin, as in the pass before. */
static outcome run_pass(sg_cluster *cluster, int64_t *spent, bool *quiet)
{
    sg_machine *machine = cluster->machine;
    const uint64_t before = machine->progress;
    bool busy = false, alive = false;
    for (uint32_t b = 0; b < cluster->block_count; b++) {
        sg_late_show(&cluster->blocks[b].remote);
        for (uint32_t i = 0; i < cluster->blocks[b].warp_count; i++) {
            sg_warp *w = &cluster->blocks[b].warps[i];
            const sg_warp_state state = w->state;
            if (state == SG_WARP_READY || state == SG_WARP_YIELDED) {
                *spent += run_slice(w);
                if (machine->fault)
                    return FAULTED;
                busy |= state == SG_WARP_READY || w->state != SG_WARP_YIELDED;
            }
            alive |= w->state != SG_WARP_DONE;
        }
        sg_late_hide(&cluster->blocks[b].remote);
    }
    *quiet = !busy && machine->progress == before;
    return alive ? TURN_OVER : FINISHED;
}

/* One cluster's turn: so many operations, or a few more. */
static outcome run_cluster(sg_cluster *cluster, int64_t turn)
{
    int64_t spent = 0;
    for (int waited = 0; spent < turn && waited < QUIET_TURN && budget_left(cluster->machine);) {
        bool quiet;
        const outcome result = run_pass(cluster, &spent, &quiet);
        if (result == FINISHED)
            sg_bulk_leave(cluster);
        if (result != TURN_OVER)
            return cluster->machine->fault ? FAULTED : result;
        const bool waits = quiet && !sg_async_release(cluster) && !sg_bulk_release(cluster);
        if (cluster->machine->fault)
            return FAULTED;
        waited = waits ? waited + 1 : 0;
        cluster->quiet_passes = waits ? cluster->quiet_passes + 1 : 0;
        if (cluster->quiet_passes > QUIET_PASSES)
            return STALLED;
        bool spins = false;
        for (uint32_t b = 0; waits && b < cluster->block_count; b++)
            for (uint32_t i = 0; i < cluster->blocks[b].warp_count; i++)
                spins |= cluster->blocks[b].warps[i].state != SG_WARP_DONE &&
                         cluster->blocks[b].warps[i].state != SG_WARP_WAITING;
        if (waits && !spins)
            return STALLED;
    }
    return TURN_OVER;
}

/* Nobody can go on: the first thread that waits is named. */
static void report_deadlock(sg_cluster *cluster, const char *why)
{
    for (uint32_t b = 0; b < cluster->block_count; b++)
        for (uint32_t i = 0; i < cluster->blocks[b].warp_count; i++) {
            sg_warp *w = &cluster->blocks[b].warps[i];
            if (w->state == SG_WARP_DONE)
                continue;
            const bool parked = !w->active && w->split_count;
            const uint32_t pc = parked ? w->splits[0].pc : w->pc, mask = parked ? w->splits[0].mask : w->active;
            sg_fault_at(w, &w->ops[pc ? pc - 1 : 0], mask, SG_FAULT_DEADLOCK, 0, "%s", why);
            return;
        }
}

/* Clusters that have begun, in a ring, and storage that waits for its next ones. */
typedef struct residents {
    sg_cluster *running, *spare;
    uint64_t next, total;
    uint64_t count, most;
    uint64_t draws; /* of an order by seed */
} residents;

/* The next number below count of a sequence that a seed begins. */
static uint64_t draw(uint64_t *state, uint64_t count)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = (*state ^ *state >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % count;
}

/*
 * The i-th of total numbers in the order of a seed: a Feistel network over as many bits as the numbers have, applied
 * again until it gives one of them. It needs no list, of which a grid may want billions of entries.
 */
static uint64_t shuffled(uint64_t seed, uint64_t i, uint64_t total)
{
    const unsigned half = total > 2 ? (64u - (unsigned)__builtin_clzll(total - 1) + 1) / 2 : 1;
    const uint64_t low = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & low;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t state = seed ^ (right << 8 | round);
            const uint64_t next = left ^ draw(&state, low + 1);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= total);
    return i;
}

static bool launch_next(sg_machine *machine, residents *r)
{
    sg_cluster *cluster = r->spare;
    if (cluster)
        r->spare = cluster->next;
    else if (!(cluster = sg_cluster_create(machine)))
        return false;
    const uint64_t *chosen = machine->grid->chosen, seed = machine->grid->order;
    const uint64_t number = seed ? shuffled(seed, r->next, r->total) : r->next;
    sg_cluster_start(cluster, chosen ? chosen[number] : number);
    r->next++;
    sg_cluster **end = &r->running;
    while (*end)
        end = &(*end)->next;
    cluster->next = NULL;
    *end = cluster;
    r->count++;
    return true;
}

/* Operations of a cluster's next turn. By seed: about as many as a short main loop has, or few. */
static int64_t find_turn(sg_cluster *cluster, residents *r)
{
    const int64_t turn = cluster->had_turn ? TURN_LATER : TURN;
    cluster->had_turn = true;
    return cluster->machine->grid->order ? (int64_t)1 << draw(&r->draws, 16) : turn;
}

/* Runs every resident cluster's turn. *moved: some did more than wait. */
static bool run_turns(sg_machine *machine, residents *r, bool *moved)
{
    *moved = false;
    for (sg_cluster **link = &r->running; *link;) {
        sg_cluster *cluster = *link;
        sg_late_show(&cluster->late);
        const outcome result = run_cluster(cluster, find_turn(cluster, r));
        sg_late_hide(&cluster->late);
        if (result == FAULTED)
            return false;
        *moved |= result != STALLED;
        if (result == FINISHED) {
            sg_late_move(&cluster->late, &machine->ended);
            *link = cluster->next;
            cluster->next = r->spare;
            r->spare = cluster;
            r->count--;
        } else {
            link = &cluster->next;
        }
    }
    return true;
}

static void run_all(sg_machine *machine, residents *r)
{
    uint64_t progress = 0, since = 0;
    while (r->running || r->next < r->total) {
        bool moved, room = true;
        for (uint64_t n = machine->grid->order ? 1 + draw(&r->draws, TOGETHER) : 1; n > 0 && room; n--)
            if (r->next < r->total && r->count < r->most)
                room = launch_next(machine, r);
        if (!room) {
            machine->fault = machine->report->fault = SG_FAULT_MEMORY;
            snprintf(machine->report->message, SG_MESSAGE_LENGTH, "%.80s: no memory for another block",
                     machine->kernel->facts.name);
            return;
        }
        if (!run_turns(machine, r, &moved))
            return;
        if (machine->progress != progress) {
            progress = machine->progress;
            since = machine->operations;
        }
        const bool full = r->next == r->total || r->count == r->most;
        const bool over = machine->grid->budget ? !budget_left(machine) : machine->operations - since > IDLE_BUDGET;
        if (r->running && full && !moved)
            report_deadlock(r->running, "deadlock: no thread can go on");
        else if (r->running && over)
            report_deadlock(r->running, "the grid does not end");
        if (machine->fault)
            return;
    }
}

/* At the end all see everything. */
static void show_all(sg_machine *machine, sg_cluster *running)
{
    sg_late_show(&machine->ended);
    sg_late_finish(&machine->ended);
    for (sg_cluster *cluster = running; cluster; cluster = cluster->next)
        sg_late_show(&cluster->late);
}

static void destroy_list(sg_cluster *cluster)
{
    for (sg_cluster *next; cluster; cluster = next) {
        next = cluster->next;
        sg_cluster_destroy(cluster);
    }
}

/* A launch that does not fit the kernel is the driver's to refuse; here it must only do no harm. */
static bool sane(const sg_grid *grid)
{
    uint64_t threads = 1, blocks = 1;
    for (int axis = 0; axis < 3; axis++) {
        if (!grid->grid[axis] || !grid->block[axis] || !grid->cluster[axis] || grid->grid[axis] % grid->cluster[axis])
            return false;
        threads *= grid->block[axis] < 2048 ? grid->block[axis] : 2048;
        blocks *= grid->cluster[axis] < 256 ? grid->cluster[axis] : 256;
    }
    return threads <= 1024 && blocks <= SG_CLUSTER_MOST && grid->dynamic_shared <= 1u << 20;
}

sg_fault sg_grid_run(const sg_grid *grid, sg_report *report, sg_counts *counts)
{
    sg_report unread;
    sg_counts mine = {0};
    sg_machine machine = {.grid = grid, .kernel = grid->kernel, .report = report ? report : &unread};
    *machine.report = (sg_report){0};
    machine.counts = grid->count && counts ? &mine : NULL;
    machine.shared_bytes = grid->dynamic_shared ? grid->kernel->dynamic_base + grid->dynamic_shared
                                                : grid->kernel->facts.static_shared;
    if (!sane(grid)) {
        machine.report->fault = SG_FAULT_INSTRUCTION;
        snprintf(machine.report->message, SG_MESSAGE_LENGTH, "%.80s: launch with an impossible grid, block or cluster",
                 grid->kernel->facts.name);
        return SG_FAULT_INSTRUCTION;
    }
    machine.spans = calloc(grid->kernel->slots + 1, sizeof machine.spans[0]);
    machine.races = grid->check_races ? sg_races_create(&machine) : NULL;
    if (!machine.spans || (grid->check_races && !machine.races)) {
        free(machine.spans);
        sg_races_destroy(machine.races);
        return machine.report->fault = SG_FAULT_MEMORY;
    }
    const uint64_t per_cluster = (uint64_t)grid->cluster[0] * grid->cluster[1] * grid->cluster[2];
    const uint64_t clusters = (uint64_t)grid->grid[0] * grid->grid[1] * grid->grid[2] / per_cluster;
    residents r = {.total = grid->chosen ? grid->chosen_count : clusters, .draws = grid->order};
    const int64_t places = (int64_t)grid->sm_count * grid->blocks_per_sm / (int64_t)per_cluster;
    r.most = places < 1 ? 1 : places > RESIDENT_MOST ? RESIDENT_MOST : (uint64_t)places;
    machine.running = &r.running;
    machine.late_global = grid->kernel->talks && clusters > 1 && !grid->check_races && !grid->undo;
    machine.late_remote = per_cluster > 1 && !grid->check_races;
    run_all(&machine, &r);
    show_all(&machine, r.running);
    destroy_list(r.running);
    destroy_list(r.spare);
    sg_races_destroy(machine.races);
    free(machine.spans);
    if (counts)
        *counts = mine;
    return machine.fault;
}
