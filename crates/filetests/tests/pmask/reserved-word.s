# A reserved operation and a bank that no encoding has.
#: run:
#: trap: illegal-instruction line=5 message="mtval 0xa800202b) with no trap handler set: this word is not an instruction"
    pmset 1
    .word 0xa800202b
