# TMATMUL without B.ARG, by option: [1 2; 3 4] times itself.
#: machine: linx
#: run: --arg x=f32[4]:[1,2,3,4] --arg y=f32[128] --option lenient-arg=on
#: expect: y[0, 4] = [7, 10, 15, 22]
        .param  x
        .param  y
_start: C.BSTART.STD
        hl.liu  0x3f800000, ->a2                # 1.0
        BSTART.TLOAD FP32
        B.ARG   NORM.normal
        B.IOR   [a0],[]
        B.IOTI  [], last ->t<512B>
        C.B.DIMI 4, ->lb0
        BSTART.TMATMUL FP32
        B.IOTI  [t#1, t#1], last ->acc<512B>
        C.B.DIMI 2, ->lb0
        C.B.DIMI 2, ->lb1
        C.B.DIMI 2, ->lb2
        BSTART.ACCCVT FP32
        B.ARG   NORM.normal
        B.IOR   [a2],[]
        B.IOTI  [], last ->u<512B>
        C.B.DIMI 4, ->lb0
        BSTART.TSTORE FP32
        B.ARG   NORM.normal
        B.IOR   [a1],[]
        B.IOTI  [u#1], last
        C.B.DIMI 4, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
