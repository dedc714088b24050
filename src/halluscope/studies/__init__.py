"""Tools for those who study benchmarks and judges. Nothing outside this folder and the command line imports them."""
