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
    it(`OPS-03 that npm passes on once more within a second is the same one: ${first}, ${second}`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] })
      const process = new EventEmitter()
      const stopped = stopSignal(process)
      process.emit(first)
      await stopped
      t.mock.timers.tick(999)
      assert.equal(process.emit(second), true, 'somebody listens, so the system does not end the process')
    })
  }

  it('OPS-03 that comes a second time after a second is left to the system, which ends the process', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const process = new EventEmitter()
    const stopped = stopSignal(process)
    process.emit('SIGINT')
    await stopped
    t.mock.timers.tick(1000)
    assert.deepEqual([process.emit('SIGINT'), process.emit('SIGTERM')], [false, false])
  })
})
