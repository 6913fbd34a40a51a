"""What a subject sees and does, frame by frame, in many lanes at once."""
