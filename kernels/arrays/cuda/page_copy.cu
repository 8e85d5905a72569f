// Pages between two pools of any layout, one of which may be mapped host memory.
//
// Host memory is read over the bus with a latency of some microseconds, so what counts is how many bytes are in
// flight: each thread asks for kFlight vectors before it stores the first. Source: ours; the layouts are layout.py's.

namespace {

constexpr int kFlight = 4;

struct Side {
    unsigned long long base, layer_bytes, page_bytes, row_bytes;
};

// Work is numbered by vector: layer, page, row, vector in the row; neighbours in number are neighbours in memory.
template <class Vector>
__device__ __forceinline__ void copy(Side from, Side to, const long long* from_pages, const long long* to_pages,
                                     long long page_count, int rows, int row_vectors, long long total) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    const long long page_vectors = static_cast<long long>(rows) * row_vectors;
    for (long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; first < total;
         first += step * kFlight) {
        Vector held[kFlight];
        unsigned long long target[kFlight];
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            const long long number = first + i * step;
            if (number >= total) break;
            const long long layer_page = number / page_vectors;
            const int within = static_cast<int>(number - layer_page * page_vectors);
            const int row = within / row_vectors, vector = within - row * row_vectors;
            const long long layer = layer_page / page_count, page = layer_page - layer * page_count;
            const unsigned long long tail = static_cast<unsigned long long>(vector) * sizeof(Vector);
            held[i] = *reinterpret_cast<const Vector*>(from.base + layer * from.layer_bytes +
                                                       from_pages[page] * from.page_bytes + row * from.row_bytes + tail);
            target[i] = to.base + layer * to.layer_bytes + to_pages[page] * to.page_bytes + row * to.row_bytes + tail;
        }
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            if (first + i * step >= total) break;
            *reinterpret_cast<Vector*>(target[i]) = held[i];
        }
    }
}

}  // namespace

#define COPY_PAGES(NAME, VECTOR)                                                                                     \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                                            \
        NAME(unsigned long long from, unsigned long long from_layer, unsigned long long from_page,                   \
             unsigned long long from_row, unsigned long long to, unsigned long long to_layer,                        \
             unsigned long long to_page, unsigned long long to_row, const long long* from_pages,                     \
             const long long* to_pages, long long page_count, int rows, int row_vectors, long long total) {          \
        copy<VECTOR>(Side{from, from_layer, from_page, from_row}, Side{to, to_layer, to_page, to_row}, from_pages,    \
                     to_pages, page_count, rows, row_vectors, total);                                                \
    }

COPY_PAGES(copy_pages_16, uint4)
COPY_PAGES(copy_pages_4, unsigned)
COPY_PAGES(copy_pages_1, unsigned char)
