# The datamining sizes (VL2, SIGCOMM 2009; the table built into forebay) capped at 100 MB: the 2 % above have 100 MB. Mean 3.66 MB.
0 0
180 0.1
216 0.2
560 0.3
900 0.4
1100 0.5
1870 0.6
3160 0.7
10000 0.8
400000 0.9
3160000 0.95
100000000 0.98
100000001 1
