// A kernel that takes a stated time and touches nothing: injected delays, and compute that only has to last.
//
// Time is the device's nanosecond timer, not cycles, so clock changes do not matter; it ticks in steps of up to a
// microsecond. One thread, which sleeps between looks, so that it takes next to nothing from its neighbours.

extern "C" __global__ void spin(unsigned long long duration_ns) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        __nanosleep(100);
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < duration_ns);
}
