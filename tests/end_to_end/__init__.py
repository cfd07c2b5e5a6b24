"""Shipped code objects, launched by the shipped runtime through hip-python, against the float64 reference."""
