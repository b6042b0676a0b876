-- Version 7.

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
