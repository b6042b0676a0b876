-- The tables of gemmtune's database, version 1. A change here is a new step in store.c's table of migrations, not an
-- edit: files of this version are out there. Times are microseconds of one execution, dates are UTC. The view that
-- people ask is in views.sql.
PRAGMA application_id = 0x474d5431; -- "GMT1"

-- A model, not a card: two cards of one model share their results.
CREATE TABLE gpu (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    cc INTEGER NOT NULL CHECK (cc BETWEEN 10 AND 999), -- compute capability, 90 for 9.0
    arch TEXT NOT NULL,                                -- what kernels are compiled for, 'sm_90a'
    sm_count INTEGER NOT NULL CHECK (sm_count >= 1),
    clock_khz INTEGER NOT NULL CHECK (clock_khz >= 0),
    memory_bytes INTEGER NOT NULL CHECK (memory_bytes >= 0),
    l2_bytes INTEGER NOT NULL CHECK (l2_bytes >= 0),
    smem_limit INTEGER NOT NULL CHECK (smem_limit >= 0), -- bytes one block may ask for
    UNIQUE (name, cc, sm_count, memory_bytes)
) STRICT;

CREATE TABLE problem (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL, -- 'f32', 's32', 'f16_f32'
    math TEXT NOT NULL,
    layout TEXT NOT NULL CHECK (layout IN ('nn', 'nt', 'tn', 'tt')),
    m INTEGER NOT NULL CHECK (m >= 0),
    n INTEGER NOT NULL CHECK (n >= 0),
    k INTEGER NOT NULL CHECK (k >= 0),
    batch INTEGER NOT NULL CHECK (batch >= 1),
    align INTEGER NOT NULL CHECK (align IN (1, 2, 4, 8, 16)), -- bytes that divide pointers and strides
    epilogue TEXT NOT NULL,
    UNIQUE (type, math, layout, m, n, k, batch, align, epilogue)
) STRICT;

-- Launch facts and code in one row, so that no code is ever launched with the facts of another. The facts are part
-- of the key: the same source started with other threads or other shared memory is another kernel. Code comes last,
-- so that facts are read without touching it.
CREATE TABLE kernel (
    id INTEGER PRIMARY KEY,
    family TEXT NOT NULL,
    params TEXT NOT NULL, -- 'bm=128 bn=256 bk=16'
    source_hash TEXT NOT NULL CHECK (length(source_hash) = 64),
    nvrtc TEXT NOT NULL,
    arch TEXT NOT NULL,
    tile_m INTEGER NOT NULL CHECK (tile_m >= 0), -- elements of C that one block computes
    tile_n INTEGER NOT NULL CHECK (tile_n >= 0),
    split_k INTEGER NOT NULL CHECK (split_k >= 0),
    threads INTEGER NOT NULL CHECK (threads >= 0),
    smem_bytes INTEGER NOT NULL CHECK (smem_bytes >= 0),
    cluster INTEGER NOT NULL CHECK (cluster >= 0),
    ws_tile INTEGER NOT NULL CHECK (ws_tile >= 0), -- workspace bytes for one tile of C
    deterministic INTEGER NOT NULL CHECK (deterministic IN (0, 1)),
    registers INTEGER NOT NULL CHECK (registers >= 0), -- per thread; 0: not known
    spills INTEGER NOT NULL CHECK (spills >= 0),       -- bytes of local memory
    cubin_hash TEXT CHECK (length(cubin_hash) = 64),   -- SHA-256
    ptx_hash TEXT CHECK (length(ptx_hash) = 64),
    cubin BLOB,
    ptx BLOB,
    CHECK ((cubin IS NULL) = (cubin_hash IS NULL)),
    CHECK ((ptx IS NULL) = (ptx_hash IS NULL)),
    UNIQUE (source_hash, nvrtc, arch, tile_m, tile_n, split_k, threads, smem_bytes, cluster, ws_tile, deterministic)
) STRICT;
CREATE INDEX kernel_loadable ON kernel (arch) WHERE cubin IS NOT NULL;

CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    program TEXT NOT NULL, -- version of gemmtune
    driver TEXT NOT NULL,
    nvrtc TEXT NOT NULL,
    host TEXT NOT NULL,
    arguments TEXT NOT NULL,
    seed TEXT NOT NULL, -- decimal; may pass what an INTEGER holds
    started TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    ended TEXT, -- NULL: still running, or killed
    ending TEXT CHECK (ending IN ('done', 'budget', 'interrupted', 'failed'))
) STRICT;

-- Every attempt, also the failed ones: they are not tried twice.
CREATE TABLE trial (
    id INTEGER PRIMARY KEY, -- grows with time: the newest has the largest
    run INTEGER NOT NULL REFERENCES run (id),
    gpu INTEGER NOT NULL REFERENCES gpu (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    kernel INTEGER NOT NULL REFERENCES kernel (id),
    stage TEXT NOT NULL CHECK (stage IN ('screen', 'race')),
    outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'compile_error', 'launch_error', 'wrong_result', 'out_of_bounds',
                                             'timeout', 'crash', 'over_resources')),
    detail TEXT NOT NULL, -- the reason of a failure
    timing TEXT NOT NULL CHECK (timing IN ('measured', 'modelled')),
    us REAL CHECK (us > 0),               -- median; NULL in all times: not measured
    us_min REAL CHECK (us_min > 0),
    us_spread REAL CHECK (us_spread >= 0), -- half the distance between the quartiles, over the median
    us_cold REAL CHECK (us_cold > 0),     -- median with L2 flushed before each execution
    samples INTEGER NOT NULL CHECK (samples >= 0),
    stopped_early INTEGER NOT NULL CHECK (stopped_early IN (0, 1)),
    clock_mhz REAL CHECK (clock_mhz > 0),
    error REAL CHECK (error >= 0),   -- against the reference, over the sum of |a||b|; NULL: not a number
    margin REAL CHECK (margin >= 0), -- the winner of a race: how much slower the next one was; else NULL
    registers INTEGER NOT NULL CHECK (registers >= 0),
    spills INTEGER NOT NULL CHECK (spills >= 0),
    tried_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CHECK (margin IS NULL OR outcome = 'ok' AND us IS NOT NULL)
) STRICT;
CREATE INDEX trial_tried ON trial (kernel, problem, gpu, stage);
CREATE INDEX trial_uncompiled ON trial (kernel) WHERE outcome = 'compile_error';
CREATE INDEX trial_winner ON trial (problem, gpu, timing) WHERE margin IS NOT NULL;
CREATE INDEX trial_fastest ON trial (problem, gpu, timing, us) WHERE outcome = 'ok' AND us IS NOT NULL;

-- What others need for the same problem, in the same run.
CREATE TABLE baseline (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run (id),
    gpu INTEGER NOT NULL REFERENCES gpu (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    name TEXT NOT NULL, -- 'cublas', 'cublaslt'
    version TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'compile_error', 'launch_error', 'wrong_result', 'out_of_bounds',
                                             'timeout', 'crash', 'over_resources')),
    detail TEXT NOT NULL,
    timing TEXT NOT NULL CHECK (timing IN ('measured', 'modelled')),
    us REAL CHECK (us > 0),
    us_min REAL CHECK (us_min > 0),
    us_spread REAL CHECK (us_spread >= 0),
    us_cold REAL CHECK (us_cold > 0),
    samples INTEGER NOT NULL CHECK (samples >= 0),
    clock_mhz REAL CHECK (clock_mhz > 0),
    error REAL CHECK (error >= 0),
    measured_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT;
CREATE INDEX baseline_of ON baseline (problem, gpu, name);

-- Searches that came to their end: the same one again would try nothing new.
CREATE TABLE searched (
    run INTEGER NOT NULL REFERENCES run (id),
    gpu INTEGER NOT NULL REFERENCES gpu (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    search TEXT NOT NULL CHECK (length(search) = 64), -- hash of effort, families, compiler and architecture
    UNIQUE (gpu, problem, search)
) STRICT;

-- The most a GPU could do.
CREATE TABLE peak (
    gpu INTEGER NOT NULL REFERENCES gpu (id),
    type TEXT NOT NULL,
    tflops REAL NOT NULL CHECK (tflops > 0),
    source TEXT NOT NULL, -- 'units x clock' or 'measured'
    UNIQUE (gpu, type)
) STRICT;

PRAGMA user_version = 1;
