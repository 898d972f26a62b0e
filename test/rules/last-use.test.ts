/** The writes of last uses, without a database. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LastUse } from '../../src/auth/last-use.ts'
import type { Log } from '../../src/observe/log.ts'
import type { Store } from '../../src/store/store.ts'

const start = 1_800_000_000_000

/** Records the keys whose use was written. */
class Recorder extends LastUse {
  readonly written: string[] = []
  readonly warnings: string[] = []
  fails = false

  constructor(clock: { now: number }) {
    // The class uses only these members of the store and of the log.
    const store = { write: async (change: (tx: null) => Promise<unknown>) => change(null) } as unknown as Store
    const log = { warn: (_: unknown, message: string) => this.warnings.push(message) } as unknown as Log
    super(store, log, () => clock.now)
  }

  use(key: string, lastAt: number): void {
    const write = async (): Promise<void> => {
      if (this.fails) throw new Error('the store is unavailable')
      this.written.push(key)
    }
    this.touch({ key, lastAt, write, failure: 'Cannot store the last use' })
  }
}

describe('the last use of a credential', () => {
  it('is written a minute after the stored use, and not before', async () => {
    const clock = { now: start + 59_999 }
    const recorder = new Recorder(clock)
    recorder.use('a', start)
    clock.now += 1
    recorder.use('a', start)
    await recorder.settled()
    assert.deepEqual(recorder.written, ['a'])
  })

  it('is written once by concurrent requests that read the same record', async () => {
    const recorder = new Recorder({ now: start + 60_000 })
    for (const key of ['a', 'a', 'b', 'a']) recorder.use(key, start)
    await recorder.settled()
    assert.deepEqual(recorder.written, ['a', 'b'])
  })

  it('is written again after a failure, which is only logged', async () => {
    const recorder = new Recorder({ now: start + 60_000 })
    recorder.fails = true
    recorder.use('a', start)
    await recorder.settled()
    recorder.fails = false
    recorder.use('a', start)
    await recorder.settled()
    assert.deepEqual(recorder.written, ['a'])
    assert.deepEqual(recorder.warnings, ['Cannot store the last use'])
  })

  it('is remembered for 10,000 keys, and one more forgets them all', async () => {
    const recorder = new Recorder({ now: start + 60_000 })
    for (let index = 0; index < 10_000; index += 1) recorder.use(`key ${index}`, start)
    recorder.use('key 0', start)
    await recorder.settled()
    assert.equal(recorder.written.length, 10_000)
    recorder.use('another', start)
    recorder.use('key 0', start)
    await recorder.settled()
    assert.deepEqual(recorder.written.slice(10_000), ['another', 'key 0'])
  })
})
