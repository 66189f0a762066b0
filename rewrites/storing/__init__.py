"""Strategies that choose which views a program stores, and how its constants lie in memory."""
