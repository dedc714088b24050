"""Who answers: lexical rules, language models, or answers given by the caller."""
