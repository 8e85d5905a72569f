// Index scores on Hopper's tensor cores: score[q, e] = sum over heads of weight[q, h] * relu(query[q, h] . key[e]).
//
// 64 heads of 128 numbers; keys lie in pages of 64 rows, as bf16 (PAGE_BYTES 16,384) or as fp8 e4m3 followed by one
// float scale a row (8,448). A block keeps four queries (256 rows of the product) in shared memory and walks over
// pages. A page is one wgmma tile: entries are rows, heads are columns, so a thread holds all heads of its entry but
// for a factor of four, and the sum over heads is done in registers. One warpgroup copies pages, two multiply: while
// one of them sums, the other has the tensor cores.
//
// fp8: the scale is positive, so it is taken out of the relu and multiplied once. Needs sm_90a.
// Source: ours; the layout of descriptors and fragments is PTX ISA 8.x, "asynchronous warpgroup level matrix".

#ifdef FP8
#define ELEMENT_BYTES 1
#define PAGE_BYTES 8448
#define WGMMA_SHAPE "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 "
#define WGMMA_TAIL ", %128, %129, p, 1, 1;\n"
#else
#define ELEMENT_BYTES 2
#define PAGE_BYTES 16384
#define WGMMA_SHAPE "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
#define WGMMA_TAIL ", %128, %129, p, 1, 1, 0, 0;\n"
#endif

#ifndef STAGES
#define STAGES 8
#endif
#ifndef AHEAD
#define AHEAD 4
#endif

namespace {

constexpr int kHeads = 64, kDim = 128, kRows = 64, kQueries = 4;
constexpr int kRowBytes = kDim * ELEMENT_BYTES;      // one key, one head of a query
constexpr int kTileBytes = kRows * kRowBytes;        // the keys of one page
constexpr int kQueryRows = kQueries * kHeads;
constexpr int kQueryBytes = kQueryRows * kRowBytes;
constexpr int kStages = STAGES;
constexpr int kAhead = AHEAD;                        // pages whose copies are in flight
constexpr int kScaleBytes = PAGE_BYTES - kTileBytes; // behind the keys, fp8 only
constexpr int kGroup = 128;
constexpr int kThreads = 3 * kGroup;

struct Barriers {
    unsigned long long full[kStages], empty[kStages];
};

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void arrive(unsigned long long* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ __forceinline__ void wait(unsigned long long* barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra AGAIN;\n}\n" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}

// Where 16 bytes of a row lie: slab by slab (128 bytes of every row, the widest swizzled tile), and within a slab
// swizzled; the tensor cores undo the exclusive or.
__device__ __forceinline__ unsigned swizzled(int rows, int slab, int row, int chunk) {
    return slab * rows * 128 + row * 128 + ((chunk ^ (row & 7)) * 16);
}

__device__ __forceinline__ void copy_16(unsigned target, const void* source) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(source) : "memory");
}

// A tile whose rows are 128 bytes and swizzled by 128: groups of eight rows lie 1,024 bytes apart.
__device__ __forceinline__ unsigned long long descriptor(unsigned address) {
    constexpr unsigned long long kSwizzle128 = 1ull << 62, kGroupStride = 1024 >> 4, kIgnored = 1;
    return ((address & 0x3ffff) >> 4) | (kIgnored << 16) | (kGroupStride << 32) | kSwizzle128;
}

#define TEN(B) "%" #B "0,%" #B "1,%" #B "2,%" #B "3,%" #B "4,%" #B "5,%" #B "6,%" #B "7,%" #B "8,%" #B "9,"
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
              "+f"(d[i + 6]), "+f"(d[i + 7])
#define D32(i) D8(i), D8(i + 8), D8(i + 16), D8(i + 24)

// d (+)= keys x queries, one step of 32 bytes along the inner dimension.
__device__ __forceinline__ void multiply(float (&d)[128], unsigned long long keys, unsigned long long queries, int adds) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n" WGMMA_SHAPE
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10)
            TEN(11) "%120,%121,%122,%123,%124,%125,%126,%127}" WGMMA_TAIL "}\n"
        : D32(0), D32(32), D32(64), D32(96)
        : "l"(keys), "l"(queries), "r"(adds));
}

struct Work {
    const unsigned char* pool;
    const int* page_table;
    int entry_count, first_page, page_step, page_count;
};

// The copying warpgroup: page after page into a ring of stages.
__device__ __forceinline__ void produce(const Work& work, unsigned char* stages, unsigned char* scales,
                                        Barriers& barriers) {
    const int tid = threadIdx.x, lane = tid % 32;
    const int left = work.page_count - work.first_page;
    const int mine = left > 0 ? (left + work.page_step - 1) / work.page_step : 0;
    int pages = 0;  // of the next 32 iterations, one a lane: a look into the table is slow
    for (int i = 0; i < mine + kAhead; ++i) {
        if (i % 32 == 0 && i + lane < mine) pages = work.page_table[work.first_page + (i + lane) * work.page_step];
        const long long page = __shfl_sync(0xffffffffu, pages, i % 32);
        if (i < mine) {
            const int stage = i % kStages;
            const unsigned char* source = work.pool + page * PAGE_BYTES;
            wait(&barriers.empty[stage], ((i / kStages) & 1) ^ 1);
            const unsigned target = shared_address(stages + stage * kTileBytes);
#pragma unroll
            for (int chunk = tid; chunk < kTileBytes / 16; chunk += kGroup) {
                const int row = chunk / (kRowBytes / 16), column = chunk % (kRowBytes / 16);
                copy_16(target + swizzled(kRows, column / 8, row, column % 8), source + chunk * 16);
            }
            if (tid < kScaleBytes / 16)
                copy_16(shared_address(scales + stage * kScaleBytes + tid * 16), source + kTileBytes + tid * 16);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (i >= kAhead) {
            asm volatile("cp.async.wait_group %0;" ::"n"(kAhead) : "memory");
            // The tensor cores read through another path than the copies wrote.
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            arrive(&barriers.full[(i - kAhead) % kStages]);
        }
    }
}

// A multiplying warpgroup: every second page of the block's.
__device__ __forceinline__ void consume(const Work& work, int group, unsigned queries, const unsigned char* stages,
                                        const unsigned char* scales, const float* weights, Barriers& barriers, const int* limits, int first_query,
                                        int query_count, float* out, long long out_stride) {
    const int lane = threadIdx.x % 32, warp = (threadIdx.x % kGroup) / 32;
    const int my_query = first_query + lane % 4;
    const int limit = my_query >= query_count ? 0
                      : limits == nullptr ? work.entry_count : min(work.entry_count, limits[my_query]);
    for (int i = group;; i += 2) {
        const int place = work.first_page + i * work.page_step;
        if (place >= work.page_count) break;
        const int stage = i % kStages;
        const int row = warp * 16 + lane / 4;
        wait(&barriers.full[stage], (i / kStages) & 1);
        float d[128];
        const unsigned keys = shared_address(stages + stage * kTileBytes);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int step = 0; step < kRowBytes / 32; ++step) {
            const int slab = step / 4, inside = step % 4 * 32;
            multiply(d, descriptor(keys + slab * kRows * 128 + inside),
                     descriptor(queries + slab * kQueryRows * 128 + inside), step != 0);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        float scale[2] = {1.0f, 1.0f};
        if (kScaleBytes > 0) {
            const float* mine = reinterpret_cast<const float*>(scales + stage * kScaleBytes);
            scale[0] = mine[row], scale[1] = mine[row + 8];
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (threadIdx.x % 32 == 0) arrive(&barriers.empty[stage]);
        float sums[kQueries][2];
#pragma unroll
        for (int query = 0; query < kQueries; ++query) {
            float low = 0.0f, high = 0.0f;
#pragma unroll
            for (int block = 0; block < kHeads / 8; ++block) {
                const int at = (query * (kHeads / 8) + block) * 4;
                const float2 weight = *reinterpret_cast<const float2*>(weights + query * kHeads + block * 8 + lane % 4 * 2);
                low = fmaf(fmaxf(d[at], 0.0f), weight.x, low);
                low = fmaf(fmaxf(d[at + 1], 0.0f), weight.y, low);
                high = fmaf(fmaxf(d[at + 2], 0.0f), weight.x, high);
                high = fmaf(fmaxf(d[at + 3], 0.0f), weight.y, high);
            }
            sums[query][0] = low;
            sums[query][1] = high;
        }
        // Four lanes hold parts of the same entries; each ends with the whole sum of one query.
        float result[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const bool is_odd = lane & 1, is_upper = lane & 2;
            float even = is_odd ? sums[1][half] : sums[0][half], given = is_odd ? sums[0][half] : sums[1][half];
            even += __shfl_xor_sync(0xffffffffu, given, 1);
            float upper = is_odd ? sums[3][half] : sums[2][half];
            given = is_odd ? sums[2][half] : sums[3][half];
            upper += __shfl_xor_sync(0xffffffffu, given, 1);
            float kept = is_upper ? upper : even;
            kept += __shfl_xor_sync(0xffffffffu, is_upper ? even : upper, 2);
            result[half] = kept * scale[half];
        }
        if (my_query < query_count) {
            float* line = out + my_query * out_stride;
            const float nothing = __int_as_float(0xff800000);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int entry = place * kRows + row + half * 8;
                if (entry < work.entry_count) line[entry] = entry < limit ? result[half] : nothing;
            }
        }
    }
}

}  // namespace

// queries: [query_count, 64, 128]; weights: [query_count, 64] float; pool: pages of PAGE_BYTES; page_table: [pages of the
// context] int; limits: [query_count] or null: entries from there on score minus infinity (causal order); out:
// [query_count, out_stride] float. Grid: (blocks that share a group of four queries, groups).
// Dynamic shared memory: kQueryBytes + kStages * PAGE_BYTES + 1,024.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    index_scores(const unsigned char* queries, const float* weights, const unsigned char* pool, const int* page_table,
                 const int* limits, int query_count, int entry_count, float* out, long long out_stride) {
    extern __shared__ unsigned char dynamic[];
    __shared__ __align__(8) Barriers barriers;
    __shared__ __align__(16) float my_weights[kQueryRows];
    unsigned char* query_tile = dynamic + (1024 - shared_address(dynamic) % 1024) % 1024;
    unsigned char* stages = query_tile + kQueryBytes;
    unsigned char* scales = stages + kStages * kTileBytes;
    const int first_query = blockIdx.y * kQueries;
    for (int chunk = threadIdx.x; chunk < kQueryBytes / 16; chunk += kThreads) {
        const int row = chunk / (kRowBytes / 16), column = chunk % (kRowBytes / 16);
        uint4 value = make_uint4(0, 0, 0, 0);
        if (first_query + row / kHeads < query_count)
            value = reinterpret_cast<const uint4*>(queries + static_cast<long long>(first_query) * kHeads * kRowBytes)[chunk];
        *reinterpret_cast<uint4*>(query_tile + swizzled(kQueryRows, column / 8, row, column % 8)) = value;
    }
    for (int i = threadIdx.x; i < kQueryRows; i += kThreads) {
        const bool is_there = first_query + i / kHeads < query_count;
        my_weights[i] = is_there ? weights[first_query * kHeads + i] : 0.0f;
    }
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < kStages; ++stage) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barriers.full[stage])), "r"(kGroup));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barriers.empty[stage])), "r"(4));
        }
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const Work work{pool, page_table, entry_count, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x),
                    (entry_count + kRows - 1) / kRows};
    if (threadIdx.x < kGroup) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        produce(work, stages, scales, barriers);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(work, threadIdx.x / kGroup - 1, shared_address(query_tile), stages, scales, my_weights, barriers, limits,
                first_query, query_count, out, out_stride);
    }
}
