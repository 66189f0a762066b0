"""The file in which a run is stored: written as it goes on, and read without trust."""
