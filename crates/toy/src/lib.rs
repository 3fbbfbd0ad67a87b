//! A machine in fifty lines: the smallest instruction set behind the Machine trait.
