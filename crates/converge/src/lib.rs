//! Run-time convergence mechanisms: which path of a diverged group runs next, and where paths meet again.
