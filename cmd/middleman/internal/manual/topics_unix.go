//go:build unix

package manual

// systemVariables are the variables that middleman uses on this system alone.
const systemVariables = `    XDG_DATA_HOME      otherwise data is in middleman/ below this one (~/.local/share),
    XDG_CONFIG_HOME    settings below this one (~/.config),
    XDG_RUNTIME_DIR    and sockets below this one (the data directory)
    SHELL              what a session without a command starts`
