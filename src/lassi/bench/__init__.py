"""What is measured, next to the plain procedure it is measured against."""
