package agent

const geminiSettings = "/Library/Application Support/GeminiCli/settings.json"
