"""What is measured, beside the plain procedure it is measured against."""
