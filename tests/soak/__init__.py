"""Half an hour of load while processes are killed: `make soak`."""
