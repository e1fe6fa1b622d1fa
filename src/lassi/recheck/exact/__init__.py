"""A second, independent check of exact certificates, in ball arithmetic; it shares no code with what made them."""
