package manual

// systemVariables are the variables that middleman uses on this system alone.
const systemVariables = `    LOCALAPPDATA       otherwise they are in middleman\ below this one
    ComSpec            what a session without a command starts
    PATHEXT            the endings that make a file a program`
