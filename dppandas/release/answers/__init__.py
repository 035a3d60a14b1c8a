"""What a release gives: the answer, its record, and how people see both."""
