"""What follows from released answers: numbers derived from them, with intervals that hold."""
