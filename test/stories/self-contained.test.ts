/** The archive with Node.js, as a machine without Node.js runs it. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { bundle } from '../../tools/bundle.ts'
import { assemble } from '../../tools/self-contained.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

const root = dirname(dirname(import.meta.dirname))

describe('the archive with Node.js', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-contained-'))
  const there = join(folder, 'troupe-of-this-platform')
  const started: ChildProcess[] = []
  /** No program is found by its name. */
  const env = { PATH: '', HOME: folder }

  before(async () => {
    const copy = join(folder, 'checkout')
    const left = new Set(['node_modules', '.git', 'dist', 'data', 'test', 'coverage', 'bench'])
    cpSync(root, copy, { recursive: true, filter: (source) => !left.has(basename(source)) })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction')
    await bundle(copy, join(copy, 'dist'))
    mkdirSync(there)
    assemble(root, there, copy)
    rmSync(copy, { recursive: true })
  })
  after(() => {
    for (const child of started) child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })

  it('prints its version, from any folder', () => {
    const { status, stdout, stderr } = spawnSync(join(there, 'troupe'), ['--version'], {
      cwd: '/',
      env,
      encoding: 'utf8',
    })
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, /^\d+\.\d+\.\d+ \(commit /)
  })

  it('serves its application', async () => {
    const port = await freePort()
    const child = spawn(join(there, 'troupe'), ['dev', '--no-watch', 'app.ts'], {
      cwd: there,
      env: { ...env, PORT: String(port), HOST: '127.0.0.1', DATABASE_URL: `sqlite:${join(folder, 'troupe.db')}` },
      stdio: 'pipe',
    })
    started.push(child)
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    await until(async () => {
      assert.equal(child.exitCode, null, said)
      return fetch(`http://127.0.0.1:${port}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    })
    const made = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"creator":"ada@example.com"}',
    })
    assert.equal(made.status, 201)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })
})
