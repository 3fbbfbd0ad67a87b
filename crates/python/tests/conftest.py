"""What the tests share: the repository's kernels, and small ones of their own."""

import pathlib

import pytest

KERNELS = pathlib.Path(__file__).resolve().parents[3] / "kernels"

HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"

# Stores the block-wide index at out[index], for index < n.
INDEX = HEAD + """
.visible .entry index(.param .u32 n, .param .u64 out) {
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %a<3>;
    ld.param.u32 %r1, [n];
    ld.param.u64 %a1, [out];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra end;
    mul.wide.u32 %a2, %r2, 4;
    add.u64 %a1, %a1, %a2;
    st.global.u32 [%a1], %r2;
end:
    ret;
}
"""

# Ends never.
FOREVER = HEAD + """
.visible .entry forever(.param .u64 out) {
    .reg .b32 %r; .reg .b64 %a;
    ld.param.u64 %a, [out];
    mov.u32 %r, 0;
again:
    add.u32 %r, %r, 1;
    st.global.u32 [%a], %r;
    bra again;
}
"""

# As before, each block on a word of its own, so that blocks can run on several threads.
APART = HEAD + """
.visible .entry apart(.param .u64 out) {
    .reg .b32 %r; .reg .b64 %a, %o;
    ld.param.u64 %a, [out];
    mov.u32 %r, %ctaid.x;
    mul.wide.u32 %o, %r, 4;
    add.u64 %a, %a, %o;
again:
    add.u32 %r, %r, 1;
    st.global.u32 [%a], %r;
    bra again;
}
"""

# Copies 8 bytes of each parameter that is a number, bits as they are; the structure's second word last.
PARAMETERS = HEAD + """
.visible .entry parameters(
    .param .u8 a, .param .s16 b, .param .u32 c, .param .s64 d, .param .f32 e, .param .f64 f, .param .b8 g[8], .param .u64 out
) {
    .reg .b16 %h<3>; .reg .b32 %r<4>; .reg .b64 %d<5>; .reg .f32 %e; .reg .f64 %f; .reg .b64 %o;
    ld.param.u64 %o, [out];
    ld.param.u8 %r1, [a];      cvt.u64.u32 %d1, %r1;  st.global.u64 [%o], %d1;
    ld.param.s16 %h1, [b];     cvt.s64.s16 %d1, %h1;  st.global.u64 [%o+8], %d1;
    ld.param.u32 %r2, [c];     cvt.u64.u32 %d1, %r2;  st.global.u64 [%o+16], %d1;
    ld.param.s64 %d2, [d];     st.global.u64 [%o+24], %d2;
    ld.param.f32 %e, [e];      cvt.f64.f32 %f, %e;    st.global.f64 [%o+32], %f;
    ld.param.f64 %f, [f];      st.global.f64 [%o+40], %f;
    ld.param.u32 %r3, [g+4];   cvt.u64.u32 %d1, %r3;  st.global.u64 [%o+48], %d1;
    ret;
}
"""

# Counts its launches in a variable, and stores the count.
COUNT = HEAD + """
.visible .global .u32 launches = 40;
.visible .entry count(.param .u64 out) {
    .reg .b32 %r; .reg .b64 %a;
    ld.param.u64 %a, [out];
    ld.global.u32 %r, [launches];
    add.u32 %r, %r, 1;
    st.global.u32 [launches], %r;
    st.global.u32 [%a], %r;
    ret;
}
"""


@pytest.fixture
def kernels():
    """The repository's kernels."""
    return KERNELS
