SCALE = 3.0  # only vectorized_5d variants import this file
