"""What the parts need that make kistd, its disk or its system fail."""
