/** Which peers an operator sees as slow. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PeerDurations } from '../../src/observe/peer-durations.ts'

describe('the slow peers', () => {
  it('are those whose calls take more than a second, the slowest first', () => {
    const durations = new PeerDurations()
    const calls: readonly [host: string, ...seconds: number[]][] = [
      ['quick.test', 0.1, 0.2],
      ['limit.test', 1],
      ['slow.test', 1, 2],
      ['slower.test', 4],
      ['other', 2],
    ]
    for (const [host, ...all] of calls) for (const seconds of all) durations.record(host, seconds)
    assert.deepEqual(durations.slowest(10), [
      { host: 'slower.test', seconds: 4, calls: 1 },
      { host: 'other', seconds: 2, calls: 1 },
      { host: 'slow.test', seconds: 1.5, calls: 2 },
    ])
    assert.deepEqual(
      durations.slowest(1).map(({ host }) => host),
      ['slower.test'],
    )
  })

  it('are no longer those that became quick, and soon those that became slow', () => {
    const durations = new PeerDurations()
    const record = (host: string, times: number, seconds: number): void => {
      for (let n = 0; n < times; n++) durations.record(host, seconds)
    }
    record('recovered.test', 100, 5)
    record('recovered.test', 30, 0.1)
    record('failing.test', 1000, 0.1)
    record('failing.test', 10, 5)
    assert.deepEqual(
      durations.slowest(10).map(({ host }) => host),
      ['failing.test'],
    )
  })
})
