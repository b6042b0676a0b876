-- Version 7.

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
