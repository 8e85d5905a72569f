// The k best scores of each row, indices ascending; the tie rule is that of selection.py: of equal scores at the
// threshold the lowest index is taken first. NaN is not handled.
//
// One block a row. A few samples give a bound that some more than k scores pass; one pass over the row keeps only
// those, in shared memory; a radix selection among them is exact. Where the bound was wrong (too few or too many
// passed: ties, odd distributions) the radix selection runs over the row itself: slower, never wrong.
//
// Reads each score once in the usual case. Source: ours; the sample-then-filter idea is Floyd and Rivest's (1975).

#ifndef THREADS
#define THREADS 512
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif

namespace {

constexpr int kThreads = THREADS;
constexpr int kWarps = kThreads / 32;
constexpr int kSamples = 256;
constexpr int kBins = 256;
constexpr int kDigitBits = 8;
constexpr unsigned kFull = 0xffffffffu;

// Orders floats as unsigned integers; both zeros become one value, because they are equal as scores.
__device__ __forceinline__ unsigned ordered(float value) {
    const unsigned bits = __float_as_uint(value + 0.0f);
    return bits ^ ((bits >> 31) ? 0xffffffffu : 0x80000000u);
}

__device__ __forceinline__ float score_of(unsigned key) {
    return __uint_as_float(key ^ ((key >> 31) ? 0x80000000u : 0xffffffffu));
}

struct Shared {
    unsigned bins[kBins];
    unsigned sample[kSamples];
    unsigned warp_sums[2][kWarps];
    unsigned bound, highest, candidate_count, digit, above;
    float bound_score;
};

__device__ __forceinline__ unsigned warp_inclusive(unsigned value, int lane) {
    for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(kFull, value, step);
        if (lane >= step) value += other;
    }
    return value;
}

// A sample of the row in, the key of its rank-th best sample out: a bound that rank of every kSamples scores reach.
__device__ void choose_bound(const float* row, int length, int rank, Shared& s) {
    const int tid = threadIdx.x;
    // Eight neighbours at a time, so that a sample costs an eighth of a sector instead of a whole one.
    const long long begin = static_cast<long long>(tid / 8) * length / (kSamples / 8);
    if (tid < kSamples) s.sample[tid] = ordered(row[min(length - 1, static_cast<int>(begin) + tid % 8)]);
    __syncthreads();
    constexpr int kShare = kThreads / kSamples;
    const int mine = tid / kShare;
    const unsigned key = s.sample[mine];
    unsigned better = 0;
    for (int other = tid % kShare; other < kSamples; other += kShare) {
        const unsigned rival = s.sample[other];
        better += rival > key || (rival == key && other < mine);
    }
    for (int step = 1; step < kShare; step *= 2) better += __shfl_xor_sync(kFull, better, step);
    if (tid % kShare == 0 && better == rank - 1) {
        s.bound = key;
        s.bound_score = score_of(key);
    }
    __syncthreads();
}

// Appends this thread's passing scores (bit i of `passing` is values[i]) behind those of the lanes before it: one atomic
// a warp, however many pass.
template <int kCount>
__device__ __forceinline__ void append(const float (&values)[kCount], const int (&indices)[kCount / 4], unsigned passing,
                                       unsigned capacity, uint2* candidates, Shared& s, float& highest, int lane) {
    const unsigned mine = __popc(passing), to_here = warp_inclusive(mine, lane);
    unsigned place = 0;
    if (lane == 31 && to_here != 0) place = atomicAdd(&s.candidate_count, to_here);
    place = __shfl_sync(kFull, place, 31) + to_here - mine;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        if (passing >> i & 1) {
            if (place < capacity) candidates[place] = make_uint2(ordered(values[i]), indices[i / 4] + i % 4);
            ++place;
            highest = fmaxf(highest, values[i]);
        }
    }
}

// One pass over the row: every score that reaches the bound goes to shared memory, with its index.
__device__ void filter(const float* row, int length, unsigned capacity, uint2* candidates, Shared& s) {
    constexpr int kVectors = 4;
    const int tid = threadIdx.x, lane = tid % 32;
    const float bound = s.bound_score;
    float highest = bound;
    int done = 0;
    if ((reinterpret_cast<unsigned long long>(row) & 15) == 0) {
        constexpr int kStep = kThreads * 4 * kVectors;
        for (; done + kStep <= length; done += kStep) {
            float values[kVectors * 4];
            int indices[kVectors];
#pragma unroll
            for (int v = 0; v < kVectors; ++v) {
                indices[v] = done + (v * kThreads + tid) * 4;
                const float4 four = __ldcs(reinterpret_cast<const float4*>(row + indices[v]));
                values[v * 4] = four.x, values[v * 4 + 1] = four.y, values[v * 4 + 2] = four.z, values[v * 4 + 3] = four.w;
            }
            unsigned passing = 0;
#pragma unroll
            for (int i = 0; i < kVectors * 4; ++i) passing |= values[i] >= bound ? 1u << i : 0u;
            append(values, indices, passing, capacity, candidates, s, highest, lane);
        }
    }
    for (; done < length; done += kThreads * 4) {
        float values[4];
        const int indices[1] = {done + tid * 4};
        unsigned passing = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const bool is_inside = indices[0] + i < length;
            values[i] = is_inside ? row[indices[0] + i] : bound;
            passing |= is_inside && values[i] >= bound ? 1u << i : 0u;
        }
        append(values, indices, passing, capacity, candidates, s, highest, lane);
    }
    for (int step = 16; step > 0; step /= 2) highest = fmaxf(highest, __shfl_xor_sync(kFull, highest, step));
    if (lane == 0) atomicMax(&s.highest, ordered(highest));
    __syncthreads();
}

struct RowKeys {
    const float* row;
    __device__ unsigned key(int place) const { return ordered(row[place]); }
    __device__ int index(int place) const { return place; }
};

struct CandidateKeys {
    const uint2* candidates;
    __device__ unsigned key(int place) const { return candidates[place].x; }
    __device__ int index(int place) const { return static_cast<int>(candidates[place].y); }
};

// The bin that holds the wanted rank, counted from the top, and how many keys lie in bins above it. One warp.
__device__ void find_digit(unsigned wanted, Shared& s) {
    const int lane = threadIdx.x;
    constexpr int kEach = kBins / 32;
    unsigned mine[kEach], sum = 0;
    for (int i = 0; i < kEach; ++i) sum += mine[i] = s.bins[kBins - 1 - (lane * kEach + i)];
    unsigned above = warp_inclusive(sum, lane) - sum;
    for (int i = 0; i < kEach; ++i) {
        if (above < wanted && above + mine[i] >= wanted) {
            s.digit = kBins - 1 - (lane * kEach + i);
            s.above = above;
        }
        above += mine[i];
    }
}

// The k-th best key, and how many of the keys equal to it still fit.
template <class Keys>
__device__ uint2 select(const Keys& keys, int count, unsigned lowest, unsigned highest, unsigned k, Shared& s) {
    unsigned prefix = lowest, wanted = k;
    int bits = 32 - __clz(highest - lowest);
    while (bits > 0) {
        const int shift = max(bits - kDigitBits, 0);
        const unsigned reach = bits < 32 ? (1u << bits) : 0;
        for (int bin = threadIdx.x; bin < kBins; bin += kThreads) s.bins[bin] = 0;
        __syncthreads();
        for (int place = threadIdx.x; place < count; place += kThreads) {
            const unsigned key = keys.key(place);
            const unsigned offset = key - prefix;
            if (key >= prefix && (reach == 0 || offset < reach)) atomicAdd(&s.bins[offset >> shift], 1);
        }
        __syncthreads();
        if (threadIdx.x < 32) find_digit(wanted, s);
        __syncthreads();
        prefix += s.digit << shift;
        wanted -= s.above;
        bits = shift;
        __syncthreads();
    }
    return make_uint2(prefix, wanted);
}

// One bit for each index that is in for sure, one for each that ties; then bits become indices, in order.
template <class Keys>
__device__ void emit(const Keys& keys, int count, uint2 threshold, int words, unsigned* sure, unsigned* tied, int k,
                     int* out, Shared& s) {
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    for (int word = tid; word < words; word += kThreads) sure[word] = tied[word] = 0;
    __syncthreads();
    for (int place = tid; place < count; place += kThreads) {
        const unsigned key = keys.key(place);
        if (key < threshold.x) continue;
        const int index = keys.index(place);
        atomicOr((key == threshold.x ? tied : sure) + index / 32, 1u << (index % 32));
    }
    __syncthreads();
    const int each = (words + kThreads - 1) / kThreads;
    const int begin = min(words, tid * each), end = min(words, begin + each);
    unsigned sure_count = 0, tied_count = 0;
    for (int word = begin; word < end; ++word) {
        sure_count += __popc(sure[word]);
        tied_count += __popc(tied[word]);
    }
    const unsigned sure_to_here = warp_inclusive(sure_count, lane), tied_to_here = warp_inclusive(tied_count, lane);
    if (lane == 31) {
        s.warp_sums[0][warp] = sure_to_here;
        s.warp_sums[1][warp] = tied_to_here;
    }
    __syncthreads();
    if (warp < 2) {
        const unsigned sum = lane < kWarps ? s.warp_sums[warp][lane] : 0;
        const unsigned before = warp_inclusive(sum, lane) - sum;
        if (lane < kWarps) s.warp_sums[warp][lane] = before;
    }
    __syncthreads();
    unsigned sure_before = s.warp_sums[0][warp] + sure_to_here - sure_count;
    unsigned tied_before = s.warp_sums[1][warp] + tied_to_here - tied_count;
    for (int word = begin; word < end; ++word) {
        unsigned chosen = sure[word];
        for (unsigned ties = tied[word]; ties != 0; ties &= ties - 1) {
            if (tied_before++ < threshold.y) chosen |= ties & -ties;
        }
        // Bits of ties raise the place only where they were taken.
        const unsigned taken_before = min(tied_before - __popc(tied[word]), threshold.y);
        unsigned place = sure_before + taken_before;
        sure_before += __popc(sure[word]);
        for (; chosen != 0; chosen &= chosen - 1) out[place++] = word * 32 + __ffs(chosen) - 1;
    }
}

}  // namespace

// scores: [rows, stride] float; lengths: [rows] or null (then length); out: [rows, k] int, -1 behind the end of a row
// that is shorter than k. Dynamic shared memory: capacity * 8 + 2 * ceil(length / 32) * 4 bytes.
extern "C" __global__ void __launch_bounds__(kThreads, BLOCKS)
    top_k(const float* scores, long long stride, const int* lengths, int length, int k, int rank, int capacity,
          int* out) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    __shared__ Shared s;
    const float* row = scores + blockIdx.x * stride;
    int* mine = out + static_cast<long long>(blockIdx.x) * k;
    if (lengths != nullptr) length = min(length, max(0, lengths[blockIdx.x]));
    if (length <= k) {
        for (int place = threadIdx.x; place < k; place += kThreads) mine[place] = place < length ? place : -1;
        return;
    }
    uint2* candidates = reinterpret_cast<uint2*>(dynamic);
    unsigned* sure = reinterpret_cast<unsigned*>(candidates + capacity);
    const int words = (length + 31) / 32;
    unsigned* tied = sure + words;
    if (threadIdx.x == 0) s.candidate_count = s.highest = s.bound = 0;
    __syncthreads();
    choose_bound(row, length, rank, s);
    filter(row, length, capacity, candidates, s);
    const int count = s.candidate_count;
    if (count >= k && count <= capacity) {
        const CandidateKeys keys{candidates};
        emit(keys, count, select(keys, count, s.bound, s.highest, k, s), words, sure, tied, k, mine, s);
    } else {
        const RowKeys keys{row};
        emit(keys, length, select(keys, length, 0u, kFull, k, s), words, sure, tied, k, mine, s);
    }
}
