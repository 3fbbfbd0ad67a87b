// Levenshtein distance of pairs of words, a block a pair: the table is filled along its anti-diagonals, of which the
// last three are kept in shared memory.

#define LONGEST 96

// Words lie one after the other; the first of pair p begins at starts[2 * p] and ends where the second begins.
extern "C" __global__ void edit_distance(const unsigned char *words, const unsigned *starts, unsigned *distances)
{
    __shared__ unsigned diagonals[3][LONGEST + 1];

    const unsigned *start = &starts[2 * blockIdx.x];
    const unsigned char *a = words + start[0];
    const unsigned char *b = words + start[1];
    const unsigned rows = start[1] - start[0];
    const unsigned columns = start[2] - start[1];

    // Thread `row` computes row `row` of the table; on diagonal d its column is d - row.
    const unsigned row = threadIdx.x;
    for (unsigned d = 0; d <= rows + columns; d++) {
        const unsigned column = d - row;
        if (row <= rows && row <= d && column <= columns) {
            const unsigned *before = diagonals[(d + 2) % 3];
            unsigned best;
            if (row == 0) {
                best = column;
            } else if (column == 0) {
                best = row;
            } else {
                const unsigned change = diagonals[(d + 1) % 3][row - 1] + (a[row - 1] != b[column - 1]);
                best = min(min(before[row], before[row - 1]) + 1, change);
            }
            diagonals[d % 3][row] = best;
        }
        __syncthreads();
    }
    if (row == 0)
        distances[blockIdx.x] = diagonals[(rows + columns) % 3][rows];
}
