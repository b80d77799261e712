"""Pictures of a case: the data of the picture, and the terminal's drawing of it."""
