# A verdict on the order of groups is expected by its name.
#: machine: linx
#: run: --arg x=u32[4] --option conflicts=on
#: trap: order-dependent line=19
        .param  x
_start: BSTART.MPAR 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 2, ->lb0
        C.B.DIMI 2, ->lb1
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.cmp.eqi lc1.uw, 0, ->p
        b.z     second
        v.sw.brg lc0.uw, [ri0, lc0<<2, zero.ud<<2]
        j       done
second: v.xori  zero.ud, -1, ->p
        v.sw.brg lc1.uw, [ri0, lc0<<2, zero.ud<<2]
done:   C.BSTOP
