// Critical sections guarded by a lock, taken by every thread, in two ways of waiting.

// The textbook's way: wait, then work, then let go. It takes lanes of a warp that make progress independently: where the
// lanes that wait and the lane that holds the lock must meet after the loop before any goes on, it never ends.
extern "C" __global__ void lock_then_work(unsigned *lock, unsigned *order, unsigned *next, unsigned *sum)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    __threadfence();
    const unsigned ticket = *(volatile unsigned *)next;
    *(volatile unsigned *)next = ticket + 1;
    order[ticket] = thread;
    *(volatile unsigned *)sum += ticket * 3 + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// The way around it: the lane that gets the lock works and lets go inside the loop, so others may wait for it there.
extern "C" __global__ void lock_in_loop(unsigned *lock, unsigned *order, unsigned *next, unsigned *sum)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            const unsigned ticket = *(volatile unsigned *)next;
            *(volatile unsigned *)next = ticket + 1;
            order[ticket] = thread;
            *(volatile unsigned *)sum += ticket * 3 + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
