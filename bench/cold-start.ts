/** Measures the time from the start of the process to the first response, with the sample application. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './compare.ts'
import type { Line } from './report.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

export async function measureColdStart(rounds: number): Promise<Line> {
  const samples: number[] = []
  for (let round = 0; round < rounds; round += 1) samples.push(await oneStart())
  const milliseconds = median(samples)
  return {
    store: 'SQLite',
    what: 'start to first answer, sample application, new data folder',
    measured: `${Math.round(milliseconds)} ms`,
    bound: '500 ms',
    ratio: milliseconds / 500,
    aim: '≤ 1',
    met: milliseconds <= 500,
  }
}

async function oneStart(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  const port = await freePort()
  const started = performance.now()
  const child = spawn(
    process.execPath,
    ['--conditions=troupe-source', join(root, 'bin/troupe.js'), 'dev', join(root, 'examples/notes/app.ts')],
    {
      cwd: folder,
      env: { ...process.env, PORT: String(port), HOST: '127.0.0.1' },
      stdio: 'ignore',
    },
  )
  try {
    while (!(await answers(port)))
      if (performance.now() - started > 10_000) throw new Error('The service did not start')
    return performance.now() - started
  } finally {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
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
    socket.on('error', () => setTimeout(() => resolve(false), 2))
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
