// Written by middleman for one launch. It reports what OpenCode does to
// middleman, one event after the other. It answers and changes nothing.
import { spawn } from "node:child_process"

const report = REPORT
const events = new Set([
  "session.created", "session.status", "session.idle", "session.error",
  "permission.asked", "permission.v2.asked", "permission.replied", "permission.v2.replied",
  "question.asked", "question.v2.asked", "question.replied", "question.v2.replied",
  "question.rejected", "question.v2.rejected",
])
const ofUser = /^(permission|question)\./
const subagents = new Set()
const most = 64 // events that wait: a newer one replaces the oldest

let waiting = []
let runs = false

function next() {
  const event = waiting.shift()
  if (event === undefined) {
    runs = false
    return
  }
  runs = true
  let ended = false
  const end = () => {
    if (!ended) {
      ended = true
      next()
    }
  }
  try {
    const child = spawn(report[0], report.slice(1), { stdio: ["pipe", "ignore", "ignore"], timeout: 3000 })
    child.on("error", end)
    child.on("close", end)
    child.stdin.on("error", () => {})
    child.stdin.end(event)
  } catch {
    end()
  }
}

export const Middleman = async () => ({
  event: async ({ event }) => {
    const properties = event.data ?? event.properties ?? {}
    const info = properties.info ?? {}
    if (info.parentID) subagents.add(info.id)
    if (!events.has(event.type)) return
    const session = properties.sessionID ?? info.id
    if (subagents.has(session) && !ofUser.test(event.type)) return
    waiting.push(JSON.stringify({ type: event.type, properties }))
    if (waiting.length > most) waiting.shift()
    if (!runs) next()
  },
})
