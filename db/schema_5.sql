-- Version 5. Behind this step the table of kernels is made anew with `class`, the problem class that a kernel was
-- rendered for, and `seal`, a hash over all that its launch depends on (migrate.c, seal.c).

-- Trials tell the seed of the data that results were checked on, NULL for that of the run; 'verify' is a later check of a
-- kernel that was tried before, and takes no times.
CREATE TABLE trial_made (
    id INTEGER PRIMARY KEY, -- grows with time: the newest has the largest
    run INTEGER NOT NULL REFERENCES run (id),
    gpu INTEGER NOT NULL REFERENCES gpu (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    kernel INTEGER NOT NULL REFERENCES kernel (id),
    stage TEXT NOT NULL CHECK (stage IN ('screen', 'race', 'verify')),
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
    seed TEXT, -- decimal, as a run's
    CHECK (margin IS NULL OR outcome = 'ok' AND us IS NOT NULL),
    CHECK (stage <> 'verify' OR us IS NULL)
) STRICT;
INSERT INTO trial_made (id, run, gpu, problem, kernel, stage, outcome, detail, timing, us, us_min, us_spread, us_cold,
                        samples, stopped_early, clock_mhz, error, margin, registers, spills, tried_at)
SELECT id, run, gpu, problem, kernel, stage, outcome, detail, timing, us, us_min, us_spread, us_cold,
       samples, stopped_early, clock_mhz, error, margin, registers, spills, tried_at FROM trial;
DROP TABLE trial;
ALTER TABLE trial_made RENAME TO trial;
CREATE INDEX trial_tried ON trial (kernel, problem, gpu, stage);
CREATE INDEX trial_uncompiled ON trial (kernel) WHERE outcome = 'compile_error';
CREATE INDEX trial_winner ON trial (problem, gpu, timing) WHERE margin IS NOT NULL;
CREATE INDEX trial_fastest ON trial (problem, gpu, timing, us) WHERE outcome = 'ok' AND us IS NOT NULL;
-- Failures that say that the code is wrong, and what may clear it of them: few, and asked for at every start.
CREATE INDEX trial_failed ON trial (kernel) WHERE outcome NOT IN ('ok', 'compile_error', 'launch_error',
                                                                  'over_resources');
CREATE INDEX trial_verified ON trial (problem) WHERE stage = 'verify';
