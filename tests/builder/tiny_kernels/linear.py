SCALE = 2.0  # only linear variants import this file
