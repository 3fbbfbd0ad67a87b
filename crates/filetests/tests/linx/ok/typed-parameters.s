# Parameters with types fill their registers extended.
#: machine: linx
#: run: --arg out=s64[3] --arg a=s32:-5 --arg b=u8:200 --arg c=f32:1.5
#: expect: out = [-5, 200, 1069547520]
        .param  out
        .param  a s32
        .param  b u8
        .param  c f32
_start: C.BSTART.STD
        sdi     a1, [a0, 0]
        sdi     a2, [a0, 8]
        sdi     a3, [a0, 16]
        c.movi  0, ->a0
        ebreak  0
