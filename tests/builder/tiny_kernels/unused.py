UNUSED = True  # nothing imports this file
