-- Version 7.

-- Files are merged. A run is told by its identity in every file that has it; one of before gets an identity that is the
-- same in every copy of the file.
CREATE TABLE run_made (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
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
INSERT INTO run_made (id, identity, program, driver, nvrtc, host, arguments, seed, started, ended, ending)
SELECT id, id || ' ' || started || ' ' || seed || ' ' || host, program, driver, nvrtc, host, arguments, seed, started,
       ended, ending FROM run;
DROP TABLE run;
ALTER TABLE run_made RENAME TO run;

-- The newest row is the one with the latest time, whatever its id. Times of one file only grow (put.c), so a run and a
-- time are one row; those of before were of whole seconds, and get a fraction in the order of their ids.
UPDATE trial SET tried_at = tried_at || r.fraction
FROM (SELECT id, printf('.%06d', row_number() OVER (PARTITION BY tried_at ORDER BY id) - 1) AS fraction FROM trial) r
WHERE r.id = trial.id;
CREATE UNIQUE INDEX trial_time ON trial (tried_at, run);
DROP INDEX trial_winner;
CREATE INDEX trial_winner ON trial (problem, gpu, timing, tried_at DESC, us) WHERE margin IS NOT NULL;
DROP INDEX trial_fastest;
CREATE INDEX trial_fastest ON trial (problem, gpu, timing, us, tried_at) WHERE outcome = 'ok' AND us IS NOT NULL;

UPDATE baseline SET measured_at = measured_at || r.fraction
FROM (SELECT id, printf('.%06d', row_number() OVER (PARTITION BY measured_at ORDER BY id) - 1) AS fraction
      FROM baseline) r
WHERE r.id = baseline.id;
CREATE UNIQUE INDEX baseline_time ON baseline (measured_at, run);
DROP INDEX baseline_of;
CREATE INDEX baseline_of ON baseline (problem, gpu, name, measured_at);

-- Coefficients of the estimate of time, fitted to trials on a GPU (gemmtune fit); a row for each of its terms.
CREATE TABLE coefficient (
    gpu INTEGER NOT NULL REFERENCES gpu (id),
    type TEXT NOT NULL,
    math TEXT NOT NULL,
    family TEXT NOT NULL,
    term TEXT NOT NULL,
    value REAL NOT NULL CHECK (value >= 0),
    UNIQUE (gpu, type, math, family, term)
) STRICT;

-- What programs asked for that know nothing of gemmtune: counted by what is preloaded into them.
CREATE TABLE wanted (
    id INTEGER PRIMARY KEY,
    gpu INTEGER NOT NULL REFERENCES gpu (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    symbol TEXT NOT NULL,  -- the function that was called, 'cublasSgemm_v2'
    fate TEXT NOT NULL,    -- 'answered', else why it was forwarded
    program TEXT NOT NULL, -- 'python3 train.py'
    tunable INTEGER NOT NULL CHECK (tunable IN (0, 1)), -- whether tuning may change the fate
    calls INTEGER NOT NULL CHECK (calls > 0),
    us REAL NOT NULL CHECK (us > 0),             -- of one call without gemmtune: a stored time of cuBLAS, else an estimate
    saved_us REAL NOT NULL CHECK (saved_us >= 0), -- of one call, by stored times
    first_seen TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    last_seen TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE (gpu, problem, symbol, fate, program)
) STRICT;
CREATE INDEX wanted_last_seen ON wanted (last_seen);
