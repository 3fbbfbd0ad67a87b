# Assembly text that is wrong in four ways.
#: check:
#: fails 2:
#| error[asm::out-of-range]: 4 does not fit `b`, which holds 0 to 3
#|   --> missing-bank.s:31:11
#|    |
#| 31 |     pmclr 4
#|    |           ^
#|    |
#|    = note: syntax: pmclr {b:bank}
#|
#| error[asm::out-of-range]: 5 does not fit `b`, which holds 0 to 3
#|   --> missing-bank.s:32:17
#|    |
#| 32 |     pmset pbank=5
#|    |                 ^
#|    |
#|    = note: syntax: pmset {b:bank}
#|
#| error[asm::undefined-symbol]: `nowhere` is not defined
#|   --> missing-bank.s:33:15
#|    |
#| 33 |     bp.any 1, nowhere
#|    |               ^^^^^^^ used here
#|
#| error[asm::syntax]: expected `,`
#|   --> missing-bank.s:34:16
#|    |
#| 34 |     psel a0, a1
#|    |                ^ the statement ends here
    pmclr 4
    pmset pbank=5
    bp.any 1, nowhere
    psel a0, a1
