// One level of a breadth-first search in a graph in compressed sparse rows: vertices found in the level before look at
// their neighbours. Threads that find the same vertex write the same distance, so their order does not matter.

extern "C" __global__ void bfs(const unsigned *rows, const unsigned *columns, unsigned vertices, int level,
                               int *distances, unsigned *found)
{
    const unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || distances[v] != level)
        return;

    for (unsigned e = rows[v]; e < rows[v + 1]; e++) {
        const unsigned neighbour = columns[e];
        if (atomicCAS(&distances[neighbour], -1, level + 1) == -1)
            atomicAdd(&found[level], 1);
    }
}
