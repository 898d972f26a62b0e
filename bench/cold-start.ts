/**
 * Measures starts of the packed archive: the time from the start of the process to the first response, and the memory of the
 * idle service. A bare server starts in alternation.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createConnection, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { median } from './compare.ts'
import { memoryLine } from './pinned.ts'
import type { Line } from './report.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Time after the first response until the memory is read, in milliseconds. */
const idleMs = 500

interface Started {
  /** Time to the first response, in milliseconds. */
  readonly wall: number
  /** Processor time until then, in milliseconds. NaN without Linux. */
  readonly processor: number
  /** Resident memory in bytes. NaN without Linux. */
  readonly memory: number
}

interface Program {
  readonly what: string
  readonly args: readonly string[]
}

/** @param folder receives the installed package; must not exist. */
export async function measureColdStart(folder: string, rounds: number): Promise<Line[]> {
  installArchive(folder)
  cpSync(join(root, 'examples/notes/app.ts'), join(folder, 'notes.ts'))
  writeFileSync(
    join(folder, 'empty.js'),
    `import { troupe } from 'troupe'\nexport default troupe({ type: 'urn:actingweb:example.com:empty', name: 'Empty' })\n`,
  )
  writeFileSync(
    join(folder, 'bare.js'),
    `import { createServer } from 'node:http'\ncreateServer((_, response) => response.end()).listen(process.env.PORT, '127.0.0.1')\n`,
  )
  const command = [join(folder, 'node_modules/troupe/bin/troupe.js'), 'dev', '--no-watch']
  const bare: Program = { what: 'bare', args: [join(folder, 'bare.js')] }
  const programs: readonly Program[] = [
    { what: 'an empty application', args: [...command, join(folder, 'empty.js')] },
    { what: 'the sample application', args: [...command, join(folder, 'notes.ts')] },
  ]
  // The first start of each fills the compile cache and is not counted.
  const starts = new Map([...programs, bare].map((program) => [program, [] as Started[]]))
  for (let round = -1; round < rounds; round += 1) {
    for (const [program, samples] of starts) {
      const started = await start(program)
      if (round >= 0) samples.push(started)
    }
  }
  const of = (program: Program, figure: keyof Started): number =>
    median((starts.get(program) ?? []).map((sample) => sample[figure]))
  return programs.flatMap((program) => [
    {
      store: 'SQLite',
      what: `packed archive, start of ${program.what} to the first answer, new data folder`,
      measured: `${shown(of(program, 'wall'))}, ${shown(of(program, 'processor'))} CPU`,
      bound: `${shown(of(bare, 'wall'))}, ${shown(of(bare, 'processor'))} CPU bare`,
      ratio: null,
      aim: '≤ 200 ms',
      met: of(program, 'wall') <= 200,
    },
    memoryLine(
      'SQLite',
      `packed archive, memory of ${program.what}, idle`,
      [of(program, 'memory'), of(bare, 'memory')],
      90,
    ),
  ])
}

/** Packs the project and unpacks the archive into an empty folder, with the dependencies of this checkout. */
function installArchive(folder: string): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules, { recursive: true })
  run(process.execPath, [join(root, 'tools/build.ts')], root)
  run('npm', ['pack', '--offline', '--ignore-scripts', '--silent', '--pack-destination', folder], root)
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
  run('tar', ['-xzf', join(folder, archive), '-C', modules], folder)
  renameSync(join(modules, 'package'), join(modules, 'troupe'))
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== 'troupe' && !name.startsWith('.'))
      symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction')
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync(program, args, { cwd, shell: process.platform === 'win32' })
  if (status !== 0) throw new Error(`Cannot measure the archive: ${program} ${args[0]} failed\n${String(stderr)}`)
}

async function start({ args }: Program): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  const port = await freePort()
  const started = performance.now()
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, PORT: String(port), HOST: '127.0.0.1' },
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  try {
    while (!(await answers(port)))
      if (child.exitCode !== null || performance.now() - started > 10_000)
        throw new Error('Cannot measure: the server did not start')
    const wall = performance.now() - started
    const processor = processorTimeOf(child)
    await setTimeout(idleMs)
    return { wall, processor, memory: memoryOf(child) }
  } finally {
    child.kill('SIGTERM')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the processor time of all threads, in milliseconds. Linux counts it in hundredths of a second. */
function processorTimeOf({ pid }: ChildProcess): number {
  const fields = procFile(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function memoryOf({ pid }: ChildProcess): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(procFile(pid, 'status'))?.[1] ?? Number.NaN) * 1024
}

function procFile(pid: number | undefined, name: string): string {
  return process.platform === 'linux' ? readFileSync(`/proc/${pid}/${name}`, 'utf8') : ''
}

async function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () =>
      socket.write('GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    )
    socket.on('data', (bytes) => {
      resolve(bytes.toString().startsWith('HTTP/1.1 200'))
      socket.destroy()
    })
    socket.on('error', () => globalThis.setTimeout(() => resolve(false), 2))
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function shown(milliseconds: number): string {
  return `${Math.round(milliseconds)} ms`
}
