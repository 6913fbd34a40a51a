"""Runs and sweeps on a Ray cluster: pools of lanes that act for one learner, trainings spread over machines."""
