/*
 * libFuzzer's target: whatever the text, the parser and the decoder neither crash nor hang nor leak, and what they let
 * through runs without harm. tests/fuzz.sh builds and runs it.
 */
#include "ptx_fixture.h"

#define DEVICE_BYTES ((uint64_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t room);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static sg_memory *memory;
    char message[SG_MESSAGE_LENGTH];
    sg_module *module = NULL;
    if (!memory && !(memory = sg_memory_create(DEVICE_BYTES)))
        abort();
    if (sg_module_create((const char *)data, bytes, 90, memory, &module, message) == SG_PTX_OK) {
        ptx_run_entries(memory, module, bytes % 2 ? 64 : 48);
        sg_module_destroy(module);
    } else if (!strstr(message, "line") && !strstr(message, "memory")) {
        abort(); /* refused without saying where */
    }
    if (sg_memory_used(memory))
        abort(); /* device memory stays behind */
    return 0;
}

/* libFuzzer's own changes find new texts, ours keep them PTX: each has every second turn. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
    uint64_t state = seed;
    if (ptx_random(&state) % 2 || bytes < 16)
        return LLVMFuzzerMutate(data, bytes, room);
    return ptx_mutate((char *)data, bytes, room, &state);
}
