// Index scores on any GPU from sm_80: score[q, e] = sum over heads of weight[q, h] * relu(query[q, h] . key[e]).
//
// 64 heads of 128 numbers; keys lie in pages of 64 rows, as bf16 (16,384 bytes a page) or as fp8 e4m3 followed by one
// float scale a row (8,448 bytes). fp8 becomes bf16 in registers, which is exact, so no fp8 unit is needed.
// A warp keeps 32 keys in registers and walks over the queries. The order of the inner dimension is free as long as
// keys and queries agree, so each thread takes eight neighbours at a time: 16-byte loads, and no shared memory.
// `index_scores_sm90.cu` is the fast one where it runs. Source: ours.

#ifdef FP8
#define ELEMENT_BYTES 1
#define PAGE_BYTES 8448
#else
#define ELEMENT_BYTES 2
#define PAGE_BYTES 16384
#endif

namespace {

constexpr int kHeads = 64, kDim = 128, kRows = 64;
constexpr int kRowBytes = kDim * ELEMENT_BYTES;
constexpr int kWarpRows = 32;
constexpr int kWarps = 4;
constexpr int kPieces = kDim / 32;  // pieces of eight numbers that one thread holds of a row

// Eight bf16 numbers as four registers.
struct Piece {
    unsigned pair[4];
};

#ifdef FP8
// Two e4m3 codes (finite) as two bf16 numbers: put the bits where float has them, and correct the exponent's bias.
__device__ __forceinline__ unsigned widen(unsigned codes) {
    const float unbias = __uint_as_float((127 + 120) << 23);
    const unsigned low = __float_as_uint(__uint_as_float((codes & 0x7f) << 20) * unbias) | (codes & 0x80) << 24;
    const unsigned high = __float_as_uint(__uint_as_float((codes >> 8 & 0x7f) << 20) * unbias) | (codes >> 8 & 0x80) << 24;
    return __byte_perm(low, high, 0x7632);
}

__device__ __forceinline__ Piece load(const unsigned char* source) {
    const uint2 codes = *reinterpret_cast<const uint2*>(source);
    return Piece{{widen(codes.x), widen(codes.x >> 16), widen(codes.y), widen(codes.y >> 16)}};
}
#else
__device__ __forceinline__ Piece load(const unsigned char* source) {
    const uint4 numbers = *reinterpret_cast<const uint4*>(source);
    return Piece{{numbers.x, numbers.y, numbers.z, numbers.w}};
}
#endif

__device__ __forceinline__ void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                         unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

}  // namespace

// Arguments as in index_scores_sm90.cu. Grid: (groups of 128 entries, groups of queries). No dynamic shared memory.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
    index_scores(const unsigned char* queries, const float* weights, const unsigned char* pool, const int* page_table,
                 const int* limits, int query_count, int entry_count, float* out, long long out_stride) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first_entry = (blockIdx.x * kWarps + warp) * kWarpRows;
    if (first_entry >= entry_count) return;
    const unsigned char* page = pool + static_cast<long long>(page_table[first_entry / kRows]) * PAGE_BYTES;
    const int first_row = first_entry % kRows + lane / 4;
    const int column_bytes = lane % 4 * 8 * ELEMENT_BYTES, piece_bytes = 32 * ELEMENT_BYTES;
    Piece keys[4][kPieces];  // rows lane/4, +8, +16, +24
    float scale[4];
    int entries[4];
#pragma unroll
    for (int part = 0; part < 4; ++part) {
        const int row = first_row + part * 8;
        entries[part] = first_entry + lane / 4 + part * 8;
#pragma unroll
        for (int piece = 0; piece < kPieces; ++piece)
            keys[part][piece] = load(page + row * kRowBytes + column_bytes + piece * piece_bytes);
#ifdef FP8
        scale[part] = reinterpret_cast<const float*>(page + kRows * kRowBytes)[row];
#else
        scale[part] = 1.0f;
#endif
    }
    const int each = (query_count + gridDim.y - 1) / gridDim.y;
    const int end = min(query_count, static_cast<int>(blockIdx.y + 1) * each);
    for (int query = blockIdx.y * each; query < end; ++query) {
        float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        const unsigned char* heads = queries + static_cast<long long>(query) * kHeads * kRowBytes;
#pragma unroll 2
        for (int block = 0; block < kHeads / 8; ++block) {
            const unsigned char* head = heads + (block * 8 + lane / 4) * kRowBytes + column_bytes;
            float upper[4] = {0, 0, 0, 0}, lower[4] = {0, 0, 0, 0};
#pragma unroll
            for (int piece = 0; piece < kPieces; ++piece) {
                const Piece b = load(head + piece * piece_bytes);
#pragma unroll
                for (int half = 0; half < 4; half += 2) {
                    multiply(upper, keys[0][piece].pair[half], keys[1][piece].pair[half], keys[0][piece].pair[half + 1],
                             keys[1][piece].pair[half + 1], b.pair[half], b.pair[half + 1]);
                    multiply(lower, keys[2][piece].pair[half], keys[3][piece].pair[half], keys[2][piece].pair[half + 1],
                             keys[3][piece].pair[half + 1], b.pair[half], b.pair[half + 1]);
                }
            }
            const float2 weight = *reinterpret_cast<const float2*>(weights + query * kHeads + block * 8 + lane % 4 * 2);
            sums[0] += fmaxf(upper[0], 0.0f) * weight.x + fmaxf(upper[1], 0.0f) * weight.y;
            sums[1] += fmaxf(upper[2], 0.0f) * weight.x + fmaxf(upper[3], 0.0f) * weight.y;
            sums[2] += fmaxf(lower[0], 0.0f) * weight.x + fmaxf(lower[1], 0.0f) * weight.y;
            sums[3] += fmaxf(lower[2], 0.0f) * weight.x + fmaxf(lower[3], 0.0f) * weight.y;
        }
        const int limit = limits == nullptr ? entry_count : min(entry_count, limits[query]);
#pragma unroll
        for (int part = 0; part < 4; ++part) {
            float sum = sums[part];
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            if (lane % 4 == part && entries[part] < entry_count)
                out[query * out_stride + entries[part]] =
                    entries[part] < limit ? sum * scale[part] : __int_as_float(0xff800000);
        }
    }
}
