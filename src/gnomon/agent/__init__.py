"""The subject: vision, then a controller, then policy and value."""
