import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import { stopSignal } from '../../src/cli/stop-signal.ts'

describe('a stop signal', () => {
  for (const [first, second] of [
    ['SIGINT', 'SIGINT'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGTERM'],
  ] as const) {
    it(`that npm repeats within a second counts once: ${first}, ${second} (OPS-03)`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] })
      const process = new EventEmitter()
      const stopped = stopSignal(process)
      process.emit(first)
      await stopped
      t.mock.timers.tick(999)
      assert.equal(process.emit(second), true, 'a listener exists, so the system does not end the process')
    })
  }

  it('that arrives again after a second is left to the system, which ends the process (OPS-03)', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const process = new EventEmitter()
    const stopped = stopSignal(process)
    process.emit('SIGINT')
    await stopped
    t.mock.timers.tick(1000)
    assert.deepEqual([process.emit('SIGINT'), process.emit('SIGTERM')], [false, false])
  })
})
