//go:build !windows && !darwin

package agent

// geminiSettings is the file of the system's settings for Gemini CLI.
const geminiSettings = "/etc/gemini-cli/settings.json"
