"""Pictures of people with named attributes: the paper's datasets, or any folder of pictures."""
