"""What both agents work with: the world and its tools, a scripted model, and the changes under test."""
