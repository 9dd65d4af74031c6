"""History that charts show: daily figures of each account, and samples of the installation."""
