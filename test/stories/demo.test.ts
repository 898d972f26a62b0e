import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { sourceArguments } from '../support/joined-files.ts'

const demo = join(dirname(dirname(import.meta.dirname)), 'examples', 'demo', 'run.ts')

describe('npm run demo', () => {
  it('plays the story of two services to its end', async () => {
    const program = spawn(process.execPath, [...sourceArguments(), demo], { stdio: ['ignore', 'pipe', 'pipe'] })
    const [printed, failed, [code]] = await Promise.all([
      text(program.stdout),
      text(program.stderr),
      once(program, 'exit') as Promise<[number | null]>,
    ])
    assert.deepEqual([code, failed], [0, ''])
    assert.match(printed, /One of them bought it\.\n/)
    assert.match(printed, /nothing is missing: Bread, Tea, Candles\.\n/)
    assert.match(printed, /His relationship, his subscription and his copy are gone\.\n/)
  })
})
