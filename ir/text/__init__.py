"""Text: from text to a tree and back, by tokens, grammar, written sizes and types, and printing."""
