# A body in a range of `map` is not there until the fetch of its first instruction has faulted.
#: machine: linx
#: run: --arg out=u32[4] --option map=0x11000+4096
#: warp-size: 1, 4, 64
#: expect: out[0, 4] = [0, 1, 2, 3]
        .param  out
_start: BSTART.MPAR 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 4, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
        .org    0x11000
body:   v.sw.brg lc0.uw, [ri0, lc0<<2, zero.ud]
        C.BSTOP
