#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Per thread, so that a failing gt_open has somewhere to leave its message and threads never share one. */
static _Thread_local char last_message[1024];

static const struct {
    gt_status status;
    const char *name;
} names[] = {
    {GT_OK, "GT_OK"},
    {GT_ERROR_INVALID, "GT_ERROR_INVALID"},
    {GT_ERROR_MEMORY, "GT_ERROR_MEMORY"},
    {GT_ERROR_DEVICE_MEMORY, "GT_ERROR_DEVICE_MEMORY"},
    {GT_ERROR_NO_DRIVER, "GT_ERROR_NO_DRIVER"},
    {GT_ERROR_NO_DEVICE, "GT_ERROR_NO_DEVICE"},
    {GT_ERROR_DRIVER, "GT_ERROR_DRIVER"},
    {GT_ERROR_NO_COMPILER, "GT_ERROR_NO_COMPILER"},
    {GT_ERROR_COMPILE, "GT_ERROR_COMPILE"},
    {GT_ERROR_NO_DATABASE, "GT_ERROR_NO_DATABASE"},
    {GT_ERROR_DATABASE, "GT_ERROR_DATABASE"},
    {GT_ERROR_VERSION, "GT_ERROR_VERSION"},
    {GT_ERROR_BUSY, "GT_ERROR_BUSY"},
    {GT_ERROR_IO, "GT_ERROR_IO"},
    {GT_ERROR_UNTRUSTED, "GT_ERROR_UNTRUSTED"},
    {GT_ERROR_CORRUPT, "GT_ERROR_CORRUPT"},
    {GT_ERROR_NOT_TUNED, "GT_ERROR_NOT_TUNED"},
    {GT_ERROR_ALIGNMENT, "GT_ERROR_ALIGNMENT"},
    {GT_ERROR_UNSUPPORTED, "GT_ERROR_UNSUPPORTED"},
};

_Static_assert(sizeof names / sizeof names[0] == 1 - GT_ERROR_UNSUPPORTED, "every status has a name");

gt_status gt_fail(gt_status status, const char *format, ...)
{
    /* Formatted aside first: an argument may be the last message itself. */
    char line[sizeof last_message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    /* One line, whatever the arguments hold: they may come out of a damaged file. */
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    memcpy(last_message, line, sizeof line);
    return status;
}

gt_status gt_fail_memory(void)
{
    return gt_fail(GT_ERROR_MEMORY, "out of memory");
}

const char *gt_error_message(void)
{
    return last_message;
}

const char *gt_status_name(gt_status status)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].status == status)
            return names[i].name;
    return "unknown gt_status";
}

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

const char *gt_version(void)
{
    return STRING(GT_VERSION_MAJOR) "." STRING(GT_VERSION_MINOR) "." STRING(GT_VERSION_PATCH);
}
