// Counts the ways to place n queens on a board of n x n. Each thread takes one way to place the first two queens and
// searches from there by backtracking, with its stack in local memory.

#define LARGEST 16

extern "C" __global__ void nqueens(unsigned n, unsigned *solutions, unsigned *total)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n * n)
        return;

    const unsigned board = (1u << n) - 1;
    const unsigned first = 1u << thread / n;
    const unsigned second = 1u << thread % n;
    unsigned count = 0;
    if ((second & (first | first << 1 | first >> 1)) == 0) {
        // For each row: columns, falling and rising diagonals that are taken, and the places not tried yet.
        unsigned columns[LARGEST], falling[LARGEST], rising[LARGEST], open[LARGEST];
        int row = 2;
        columns[2] = first | second;
        falling[2] = (first << 1 | second) << 1;
        rising[2] = (first >> 1 | second) >> 1;
        open[2] = board & ~(columns[2] | falling[2] | rising[2]);
        while (row >= 2) {
            const unsigned place = open[row] & -open[row];
            if (place == 0) {
                row--;
                continue;
            }
            open[row] ^= place;
            if (row == (int)n - 1) {
                count++;
                continue;
            }
            columns[row + 1] = columns[row] | place;
            falling[row + 1] = (falling[row] | place) << 1;
            rising[row + 1] = (rising[row] | place) >> 1;
            row++;
            open[row] = board & ~(columns[row] | falling[row] | rising[row]);
        }
    }
    solutions[thread] = count;
    if (count != 0)
        atomicAdd(total, count);
}
