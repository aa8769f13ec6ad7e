"""Which tool calls wait for a person's yes, and what the model reads of the decision."""
