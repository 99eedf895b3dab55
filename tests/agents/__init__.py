"""Scripted agents with the habits that models have, over the tool as a host gives it to them."""
