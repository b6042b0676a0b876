-- Version 6.

-- What a GPU could do at most depends on the math mode too.
CREATE TABLE peak_made (
    gpu INTEGER NOT NULL REFERENCES gpu (id),
    type TEXT NOT NULL,
    math TEXT NOT NULL,
    tflops REAL NOT NULL CHECK (tflops > 0),
    source TEXT NOT NULL, -- 'units x clock' or 'measured'
    UNIQUE (gpu, type, math)
) STRICT;
INSERT INTO peak_made (gpu, type, math, tflops, source) SELECT gpu, type, 'strict', tflops, source FROM peak;
DROP TABLE peak;
ALTER TABLE peak_made RENAME TO peak;
