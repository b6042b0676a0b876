/* Templates and spaces as embed.py put them into the program. */
#ifndef GT_EMBEDDED_H
#define GT_EMBEDDED_H

struct gt_embedded_family {
    const char *name, *source, *space;
};

/* What templates may include. */
struct gt_embedded_header {
    const char *name, *text;
};

/* Both end with a NULL name. */
extern const struct gt_embedded_family gt_embedded_families[];
extern const struct gt_embedded_header gt_embedded_headers[];

#endif
