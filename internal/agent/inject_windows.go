package agent

// hooksRun says that no hooks are passed to programs: what runs a hook's command
// differs between them.
const hooksRun = false

const geminiSettings = `C:\ProgramData\gemini-cli\settings.json`
