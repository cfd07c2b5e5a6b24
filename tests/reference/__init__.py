"""Plain float64 attention over paged caches: what every kernel is compared with. Imports nothing of the product."""
