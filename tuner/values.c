#include "values.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/core/status.h"

/* How far two words are apart: inserted, lost and changed letters; a swap of neighbours counts one. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    size_t d[LONGEST + 1][LONGEST + 1];
    const size_t na = strlen(a), nb = strlen(b);
    if (na > LONGEST || nb > LONGEST)
        return LONGEST;
    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < least)
                least = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < least)
                least = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < least)
                least = d[i - 2][j - 2] + 1;
            d[i][j] = least;
        }
    return d[na][nb];
}

const char *gt_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    size_t least = strlen(word) / 3 + 2; /* one wrong letter in a short word, more in a long one */
    for (; *names; names++) {
        const size_t apart = strlen(word) >= 3 && strncmp(word, *names, strlen(word)) == 0 ? 1 : distance(word, *names);
        if (apart < least && apart < strlen(*names)) {
            least = apart;
            nearest = *names;
        }
    }
    return nearest;
}

gt_status gt_integer_parse(const char *what, const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno == ERANGE || number < least || number > most)
        return gt_fail(GT_ERROR_INVALID, "%s takes a whole number from %lld to %lld, not '%.40s'", what,
                       (long long)least, (long long)most, text);
    *value = number;
    return GT_OK;
}

gt_status gt_duration_parse(const char *text, double *out)
{
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'h', 3600}, {'m', 60}, {'s', 1}};
    const char *at = text;
    double sum = 0;
    size_t unit = 0;
    bool ok = *text != '\0';
    while (ok && *at) {
        char *end;
        ok = strspn(at, "0123456789.") > 0;
        const double number = strtod(at, &end);
        if (*end == '\0' && at == text) { /* a bare number is seconds */
            sum = number;
            break;
        }
        while (unit < 3 && units[unit].letter != *end)
            unit++;
        ok = ok && end > at && unit < 3;
        if (ok) {
            sum += number * units[unit++].seconds;
            at = end + 1;
        }
    }
    if (!ok || !(sum > 0) || sum > 366.0 * 86400)
        return gt_fail(GT_ERROR_INVALID, "a time such as 90, 10m or 1h30m is expected, not '%.40s'", text);
    *out = sum;
    return GT_OK;
}

gt_status gt_arch_parse(const char *text, gt_device *device)
{
    const char *digits = strncmp(text, "sm_", 3) == 0 ? text + 3 : text;
    int cc = 0, used = 0, major, minor;
    if (sscanf(digits, "%2d.%1d%n", &major, &minor, &used) == 2 && digits[used] == '\0')
        cc = major * 10 + minor;
    else if (sscanf(digits, "%3d%n", &cc, &used) != 1 || (digits[used] && strcmp(digits + used, "a") != 0))
        return gt_fail(GT_ERROR_INVALID, "an architecture such as sm_80 or sm_90a is expected, not '%.40s'", text);
    return gt_device_model(cc, device);
}
