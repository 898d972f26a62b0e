/** Measures `troupe dev`: the time from the change of a file to the first answer of the new code. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { median } from './compare.ts'
import type { Line } from './report.ts'

const lookMs = 5
const longestMs = 30_000

/** @param installed The folder with the installed package and `notes.ts`, the sample application. */
export async function measureReload(installed: string, rounds: number): Promise<Line> {
  const folder = join(installed, 'reload')
  mkdirSync(folder, { recursive: true })
  const version = join(folder, 'version.ts')
  const write = (number: number): void => writeFileSync(version, `export const version: number = ${number}\n`)
  write(0)
  writeFileSync(
    join(folder, 'app.ts'),
    `import app from '../notes.ts'
import { version } from './version.ts'
export default app.appCallback('version', () => ({ version }))
`,
  )
  const program = join(installed, 'node_modules/troupe/bin/troupe.js')
  const child = spawn(process.execPath, [program, 'dev', join(folder, 'app.ts')], {
    cwd: folder,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const url = await addressOf(child)
    const samples: number[] = []
    for (let round = 0; round <= rounds; round += 1) {
      // The process for the next version loads the code of the service meanwhile, as it does between changes of a person.
      await setTimeout(1500)
      const changedAt = performance.now()
      write(round + 1)
      await answers(url, round + 1)
      if (round > 0) samples.push(performance.now() - changedAt)
    }
    const wall = median(samples)
    return {
      store: 'SQLite',
      what: 'packed archive, troupe dev: change of a file of the sample application to the first answer of the new code',
      measured: `${Math.round(wall)} ms, longest ${Math.round(Math.max(...samples))} ms`,
      bound: '',
      ratio: null,
      aim: '≤ 1000 ms',
      met: wall <= 1000,
    }
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  let printed = ''
  for await (const piece of child.stdout ?? []) {
    printed += String(piece)
    const url = /is ready at (\S+)/.exec(printed)?.[1]
    if (url === undefined) continue
    child.stdout?.resume()
    return url
  }
  throw new Error(`Cannot measure: troupe dev did not start\n${printed}`)
}

async function answers(url: string, version: number): Promise<void> {
  const deadline = performance.now() + longestMs
  while (performance.now() < deadline) {
    const answer = await fetch(`${url}/callbacks/version`)
      .then(async (response) => response.text())
      .catch(() => '')
    if (answer === `{"version":${version}}`) return
    await setTimeout(lookMs)
  }
  throw new Error(`Cannot measure: version ${version} did not answer`)
}
