// Pages that carry their version in every 8 bytes: writing it, and seeing what a reader saw.
//
// A version is opaque and positive; 0 is a page that nobody wrote. Every 8-byte word of a page holds its version, so a
// read that overtakes a copy sees old words and new words, and can say where the tear is. Reads are volatile: a line of
// the first-level cache may be older than the copy. Source: ours; the record is PageView of substrate/contract.py.

namespace {

constexpr unsigned kFull = 0xffffffffu;

__device__ __forceinline__ long long* page_at(unsigned long long base, unsigned long long layer_bytes,
                                              unsigned long long page_bytes, const long long* layers, const long long* pages,
                                              int page_count) {
    const long long layer = layers[blockIdx.x / page_count];
    const long long page = pages[blockIdx.x % page_count];
    return reinterpret_cast<long long*>(base + layer * layer_bytes + page * page_bytes);
}

}  // namespace

// One block a (layer, page). versions: [layers, page_count].
extern "C" __global__ void write_versions(unsigned long long base, unsigned long long layer_bytes,
                                          unsigned long long page_bytes, const long long* layers, const long long* pages,
                                          int page_count, int words, const long long* versions) {
    volatile long long* page = page_at(base, layer_bytes, page_bytes, layers, pages, page_count);
    const long long version = versions[blockIdx.x];
    for (int word = threadIdx.x; word < words; word += blockDim.x) page[word] = version;
}

// What a reader of the pages sees. Each of the outputs has one number a (layer, page):
// head, tail: the first and the last word; tear: how many words from the start equal the head (words where all do);
// strange: how many words are neither head nor tail (a page that three writers meet in).
extern "C" __global__ void read_versions(unsigned long long base, unsigned long long layer_bytes,
                                         unsigned long long page_bytes, const long long* layers, const long long* pages,
                                         int page_count, int words, long long* heads, long long* tails, long long* tears,
                                         long long* strange) {
    __shared__ long long ends[2];
    __shared__ int first_other, strange_count;
    volatile long long* page = page_at(base, layer_bytes, page_bytes, layers, pages, page_count);
    if (threadIdx.x == 0) {
        ends[0] = page[0];
        ends[1] = page[words - 1];
        first_other = words;
        strange_count = 0;
    }
    __syncthreads();
    const long long head = ends[0], tail = ends[1];
    int mine = words, odd = 0;
    for (int word = threadIdx.x; word < words; word += blockDim.x) {
        const long long seen = page[word];
        if (seen != head) mine = min(mine, word);
        odd += seen != head && seen != tail;
    }
    mine = __reduce_min_sync(kFull, mine);
    odd = __reduce_add_sync(kFull, odd);
    if (threadIdx.x % 32 == 0) {
        atomicMin(&first_other, mine);
        if (odd != 0) atomicAdd(&strange_count, odd);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        heads[blockIdx.x] = head;
        tails[blockIdx.x] = tail;
        tears[blockIdx.x] = first_other;
        strange[blockIdx.x] = strange_count;
    }
}
