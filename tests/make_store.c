/* Makes an empty database: make_store FILE. */
#include <stdio.h>

#include "../db/store.h"

int main(int argc, char **argv)
{
    gt_store *store;
    if (argc != 2 || gt_store_open(argv[1], GT_STORE_WRITE, &store) != GT_OK) {
        fprintf(stderr, "make_store: %s\n", argc == 2 ? gt_error_message() : "one FILE");
        return 1;
    }
    gt_store_close(store);
    return 0;
}
