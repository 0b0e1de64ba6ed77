"""Tools for the parts that make kistd, its disk or its system fail."""
