/**
 * Runs one PostgreSQL server while the parent process lives. When standard input ends for any reason, this process stops
 * the server and deletes its folder.
 */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'

interface Order {
  readonly command: string
  readonly args: readonly string[]
  readonly folder: string
  readonly uid?: number
}

const order = JSON.parse(process.argv[2] ?? '') as Order
// The terminal sends an interrupt to the whole process group, but only the parent decides when this process ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const identity = order.uid === undefined ? {} : { uid: order.uid, gid: order.uid }
const server = spawn(order.command, order.args, {
  ...identity,
  cwd: order.folder,
  stdio: ['ignore', 'ignore', 'pipe'],
})

let orphaned = false
let said = ''
server.stderr.setEncoding('utf8')
server.stderr.on('data', (text: string) => {
  said = (said + text).slice(-10_000)
  if (/database system is ready to accept (?:read-only )?connections/.test(said)) tell(`ready ${server.pid}\n`)
})
server.on('error', (error) => tell(`${error.message}\n`))
server.on('close', () => {
  if (orphaned) rmSync(order.folder, { recursive: true, force: true })
  else tell(`ended ${JSON.stringify(said)}\n`)
  process.exit()
})
process.stdout.on('error', () => {})
process.stdin.resume()
process.stdin.on('close', () => {
  orphaned = true
  server.kill('SIGQUIT')
})

function tell(line: string): void {
  said = ''
  process.stdout.write(line)
}
