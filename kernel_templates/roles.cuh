// What warp-specialised families share: the place of a role in the ring of stages, and registers that go from producers to
// consumers.
//
// Needs: STAGES, OCC, PRODUCER_REGISTERS, and of a block PRODUCERS, CONSUMERS and THREADS_ threads.
#ifndef GT_ROLES_CUH
#define GT_ROLES_CUH

// True in one thread of a warp. The assembler knows that it is one, which no comparison of numbers tells it: what the copy
// engine takes from uniform registers is moved there at once, not in a loop over threads that might differ.
__device__ __forceinline__ bool elect_one()
{
    unsigned one;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(one));
    return one;
}

// A place in the ring of stages, and the parity of how often it went round.
struct place {
    unsigned stage, phase;
    __device__ __forceinline__ void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
    // The same so many times.
    __device__ __forceinline__ void skip(unsigned stages)
    {
        const unsigned to = stage + stages;
        phase ^= to / STAGES % 2;
        stage = to % STAGES;
    }
};

// Registers of a thread: as launched, the same for all; then a consumer's, with what the producers gave back.
constexpr int EVEN = 65536 / (THREADS_ * OCC) / 8 * 8, LAUNCHED = EVEN < 240 ? EVEN : 240;
constexpr int REST = (LAUNCHED * THREADS_ - PRODUCER_REGISTERS * PRODUCERS) / CONSUMERS / 8 * 8,
              CONSUMER_REGISTERS = REST < 240 ? REST : 240;

#endif
