# Parameters without a name, with a wrong type, with a name that there is already; there are eight argument registers.
#: machine: linx
#: check:
#: fails 2:
#| error[linx::param]: `.param` takes a name, and a type if it is not 64 bits
#|   --> parameters.s:34:9
#|    |
#| 34 |         .param
#|    |         ^^^^^^
#|
#| error[linx::param]: types of parameters are u8, u16, u32, u64, s8, s16, s32, s64, f16, f32, f64
#|   --> parameters.s:35:9
#|    |
#| 35 |         .param  a u128
#|    |         ^^^^^^
#|
#| error[linx::param]: `.param` takes a name, and a type if it is not 64 bits
#|   --> parameters.s:36:9
#|    |
#| 36 |         .param  a b c
#|    |         ^^^^^^
#|
#| error[linx::param]: there is a parameter `a` already
#|   --> parameters.s:38:9
#|    |
#| 38 |         .param  a
#|    |         ^^^^^^
#|
#| error[linx::param]: there are eight argument registers
#|   --> parameters.s:46:9
#|    |
#| 46 |         .param  i
#|    |         ^^^^^^
        .param
        .param  a u128
        .param  a b c
        .param  a
        .param  a
        .param  b
        .param  c
        .param  d
        .param  e
        .param  f
        .param  g
        .param  h
        .param  i
_start: C.BSTART.STD
        ebreak  0
