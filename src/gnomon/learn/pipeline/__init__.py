"""Two cores for one run: while the learner learns from an unroll, a second process already acts the next one.

The lanes always act with the weights from before the learner began: one unroll of lag, whichever process is faster. So
a run with a pipeline is as reproducible as one without, and resumes exactly. V-trace corrects the lag. This is IMPALA's
architecture on one machine.
"""
