"""How does a learning agent keep time? An open laboratory for interval timing in deep reinforcement learning agents."""
