// Does a word match (a|b)*abb(c|d)+ ? Each thread drives an automaton over its word, character by character.
// The automaton is code, not a table: each state is a place in the program, as a compiler of regular expressions would have it, with
// jumps between the states. Lanes are at places of their own all the time.

extern "C" __global__ void match(const unsigned char *words, const unsigned *starts, unsigned count, unsigned *ends)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const unsigned char *p = words + starts[i], *last = words + starts[i + 1];
    unsigned char c;
    unsigned longest = 0;

    // Before "abb": the length of the part of it that has been seen.
none:
    if (p == last)
        goto done;
    c = *p++;
    if (c == 'a')
        goto a;
    if (c == 'b')
        goto none;
    goto done;
a:
    if (p == last)
        goto done;
    c = *p++;
    if (c == 'a')
        goto a;
    if (c == 'b')
        goto ab;
    goto done;
ab:
    if (p == last)
        goto done;
    c = *p++;
    if (c == 'a')
        goto a;
    if (c == 'b')
        goto abb;
    goto done;
abb:
    if (p == last)
        goto done;
    c = *p++;
    if (c == 'a')
        goto a;
    if (c == 'b')
        goto none;
    if (c == 'c' || c == 'd')
        goto tail;
    goto done;
tail:
    longest = (unsigned)(p - words) - starts[i];
    if (p == last)
        goto done;
    c = *p++;
    if (c == 'c' || c == 'd')
        goto tail;
done:
    ends[i] = longest;
}
