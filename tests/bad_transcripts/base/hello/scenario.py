"""What the subject plays."""
