"""From text to a tree and back: tokens, grammar, written sizes and types, printing."""
