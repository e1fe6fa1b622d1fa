"""Pictures of people with named attributes: the datasets of the paper, and any folder of pictures."""
