// A server of the real binary in a throw-away home, with a repository to work on.

import { execFile, execFileSync, spawn } from 'node:child_process'
import dns from 'node:dns'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { promisify } from 'node:util'

const binary = process.env.MIDDLEMAN_BINARY

// As browsers have it: names below localhost are this machine.
const local = (host) => (host.endsWith('.localhost') ? '127.0.0.1' : host)
const { lookup } = dns
const ask = dns.promises.lookup
dns.lookup = (host, ...rest) => lookup(local(host), ...rest)
dns.promises.lookup = (host, ...rest) => ask(local(host), ...rest)

/** The arguments of a process; none where it has ended. */
function args(path) {
  try {
    return readFileSync(path, 'utf8').split('\0')
  } catch {
    return []
  }
}

export class Server {
  // Short, because a Unix socket's path is limited.
  root = mkdtempSync(join(tmpdir(), 'mm-e2e-'))
  home = join(this.root, 'home')
  repository = join(this.root, 'shop')
  /** host:port, as browsers know it, and where it listens. */
  address = ''
  listens = ''
  loginLink = ''
  /** What the server has printed since it was started. */
  printed = ''
  #process

  /** settings are lines of config.toml. */
  constructor(settings = '') {
    if (!binary) throw new Error('MIDDLEMAN_BINARY names no binary')
    mkdirSync(join(this.home, 'config'), { recursive: true, mode: 0o700 })
    // Without BACKEND it is what a newcomer gets.
    const backend = process.env.BACKEND ? `backend = "${process.env.BACKEND}"\n` : ''
    if (backend || settings) writeFileSync(join(this.home, 'config', 'config.toml'), backend + settings, { mode: 0o600 })
    mkdirSync(this.repository)
    writeFileSync(join(this.repository, 'README'), 'A shop.\n')
    this.git('init', '--quiet', '--initial-branch=main')
    this.git('add', '.')
    this.git('commit', '--quiet', '--message', 'Open the shop')
  }

  git(...args) {
    const identity = ['-c', 'user.name=Tester', '-c', 'user.email=tester@example.org']
    return execFileSync('git', [...identity, ...args], { cwd: this.repository, encoding: 'utf8' })
  }

  get environment() {
    const { PATH, LANG = 'C.UTF-8', TMPDIR } = process.env
    return {
      PATH, LANG, ...(TMPDIR && { TMPDIR }),
      HOME: this.root, SHELL: '/bin/bash', MIDDLEMAN_HOME: this.home,
    }
  }

  /** Starts the server, on the same port as before, and reads what it prints. */
  async start() {
    const listen = this.listens || '127.0.0.1:0'
    const child = spawn(binary, ['serve', '--print-link', '--listen', listen], {
      cwd: this.repository, env: this.environment, stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#process = child
    this.printed = ''
    await new Promise((resolve, reject) => {
      const read = (data) => {
        this.printed += data
        const link = this.printed.match(/(http:\/\/(middleman-\w+\.localhost:(\d+))\/#login=\w+)\s/)
        if (!link) return
        this.loginLink = link[1]
        this.address = link[2]
        this.listens = `127.0.0.1:${link[3]}`
        resolve()
      }
      child.stdout.on('data', read)
      child.stderr.on('data', read)
      child.on('error', reject)
      child.on('exit', (code, signal) => reject(new Error(`serve ended (${code ?? signal}) and printed:\n${this.printed}`)))
    })
  }

  /** Starts a server in the background that serves hubs alone, where it was before. */
  serveHubs() {
    this.middleman('serve', '--background', '--runtime', '--listen', this.listens || '127.0.0.1:0', '--tls', 'local')
    this.listens = JSON.parse(readFileSync(join(this.home, 'run', 'serve.json'), 'utf8')).address
  }

  /** Has a hub drive this server, and returns what no browser of the hub may get to know. */
  async join(hub, name) {
    const [host, port] = this.listens.split(':')
    const authority = await new Promise((resolve, reject) => {
      const socket = tls.connect({ host, port, rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate(true).issuerCertificate.fingerprint256)
        socket.destroy()
      })
      socket.on('error', reject)
    })
    const file = join(hub.root, `${name}.token`)
    const token = this.middleman('token', 'create', 'hub', '--scope', 'full').trim()
    writeFileSync(file, token, { mode: 0o600 })
    hub.middleman('runtime', 'add', name, `https://${this.listens}`, '--token-file', file, '--pin', authority)
    return [token, file, this.listens]
  }

  get #runs() {
    return this.#process && this.#process.exitCode === null && this.#process.signalCode === null
  }

  /** Ends the server alone, as a crash would. */
  async kill(signal = 'SIGKILL') {
    const child = this.#process
    if (!this.#runs) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await gone
  }

  /** Ends the process that holds the port while there is no server. */
  killHolder() {
    const socket = join(this.home, 'run', 'port.sock')
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const line = args(`/proc/${pid}/cmdline`)
      if (line.includes('hold-port') && line.includes(socket)) process.kill(Number(pid), 'SIGKILL')
    }
  }

  /** Kills what hosts a session, so that nobody knows how its program ended. */
  killSession(id) {
    const state = join(this.home, 'data', 'sessions', id)
    const hosts = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number)
      .filter((pid) => args(`/proc/${pid}/cmdline`).includes(state))
    for (const pid of hosts) process.kill(pid, 'SIGSTOP') // else one starts another in its place
    for (const pid of hosts) process.kill(pid, 'SIGKILL')
    return hosts.length
  }

  /** A new login link. */
  newLink() {
    return JSON.parse(this.middleman('open', '--json')).url
  }

  middleman(...args) {
    return execFileSync(binary, args, { cwd: this.repository, env: this.environment, encoding: 'utf8', timeout: 150_000 })
  }

  /** The same for a test that has something to answer meanwhile. */
  async middlemanSoon(...args) {
    return (await promisify(execFile)(binary, args, { cwd: this.repository, env: this.environment, encoding: 'utf8', timeout: 150_000 })).stdout
  }

  /** Waits until nobody is attached to a session, WORKSPACE/SESSION: a page that has left takes its time to be gone. */
  async free(name, until = Date.now() + 120_000) {
    const find = async () => JSON.parse(await this.middlemanSoon('ls', '--sessions', '--json')).sessions.find((s) => `${s.workspace_name}/${s.name}` === name)
    for (let session; (session = await find()).writer; ) {
      if (Date.now() > until) throw new Error(`${name} still has a writer: ${JSON.stringify(session.writer)}`)
    }
  }

  /** A terminal of the user's own, in a tmux of their own, in which a command runs. */
  terminal(command) {
    const socket = join(this.root, 'own.sock')
    const tmux = (...args) => execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], { env: this.environment, encoding: 'utf8' })
    tmux('new-session', '-d', '-x', '100', '-y', '30', `exec env -u TMUX ${command}`)
    return {
      type: (text) => tmux('send-keys', '-l', text, ';', 'send-keys', 'Enter'),
      end: () => tmux('kill-server'),
      async shows(pattern, until = Date.now() + 120_000) {
        let screen = ''
        while (Date.now() < until) { // tmux tells of no output; the command may end
          screen = tmux('capture-pane', '-p')
          if (pattern.test(screen)) return
          await new Promise((next) => setTimeout(next, 50))
        }
        throw new Error(`${pattern} did not appear; the terminal has:\n${screen}`)
      },
    }
  }

  /** Ends every session, then the server, then removes the directory. */
  async cleanUp() {
    const failures = []
    const attempt = (...args) => {
      try {
        return this.middleman(...args)
      } catch (error) {
        failures.push(error)
        return '{}'
      }
    }
    if (this.#process && !this.#runs) { // after a test that failed: else a command would start one that nobody ends
      this.listens = ''
      await this.start()
    }
    const { workspaces = [] } = JSON.parse(attempt('ls', '--all', '--json'))
    for (const { name, state } of workspaces) {
      if (state !== 'deleted') attempt('rm', name, '--discard-work', '--stop-sessions')
    }
    attempt('login', 'revoke', '--all') // the port's holder ends
    await this.kill('SIGTERM')
    if (!this.#process) attempt('server', 'stop') // it runs in the background
    if (failures.length > 0) throw new AggregateError(failures, `left behind: ${this.root}`)
    rmSync(this.root, { recursive: true, force: true })
  }
}
