# The extension's example of branches on banks, as printed there but for the values in t0 to t3, which are given here.
_start:
    li   t0, 5
    li   t2, 1
    pmlow.wr  pbank=2, t0
    pmhigh.wr pbank=2, t1
    pmlow.wr  pbank=3, t2
    pmhigh.wr pbank=3, t3
    bp.any pbank=2, %do_tail
    li   s0, 1
    bp.none pbank=3, %done
    li   s0, 2
do_tail:
    li   s1, 1
done:
    la   a0, way
    sd   s0, 0(a0)
    sd   s1, 8(a0)
    li   a7, 0
    ecall
.data
way: .dword 9, 9
