"""Teams: an agent leads up to five teammates, which work beside it and on the tasks of its plan."""
