"""How the agent learns: V-trace, losses, actors, learner and the loop around them."""
