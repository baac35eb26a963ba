"""The rim towards the person: magics, commands, options, completion, and what they show."""
