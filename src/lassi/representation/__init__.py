"""The producer: representations R that map similar people close together."""
