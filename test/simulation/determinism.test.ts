import { seedProcess } from './deterministic.ts'
import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { hkdfSync, randomBytes, randomInt, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import { watchOutside } from './outside.ts'
import { Simulator } from './simulation.ts'

const simulator = new Simulator()
after(() => simulator.close())

describe('services in virtual time', () => {
  it('behave identically with the same seed, to the last line of the trace', async () => {
    // Callbacks of seed 25 are compressed. Actors of seed 10 move, and the Python actor takes part.
    const first = [await simulator.run(25), await simulator.run(10)]
    const second = [await simulator.run(10), await simulator.run(25)].toReversed()
    assert.deepEqual(
      second.map(({ hash }) => hash),
      first.map(({ hash }) => hash),
    )
    assert.notEqual(first[0]?.hash, first[1]?.hash)
  })
})

describe('a run', () => {
  const readings = (seed: number): unknown[] => {
    seedProcess({ seed, now: () => Date.UTC(2031, 0, 1) })
    try {
      // Real time: the simulation replaces this clock, which is the subject.
      const times = [Date.now(), new Date().toISOString(), performance.now(), performance.now()]
      const ids = [randomUUID(), crypto.randomUUID(), randomBytes(8), crypto.getRandomValues(new Uint8Array(8))]
      return [...times, ...ids, Math.random(), randomInt(1_000_000), randomInt(5, 1_000_000)]
    } finally {
      seedProcess(null)
    }
  }

  it('reads its own clock, and random values of its seed', () => {
    const first = readings(1)
    assert.deepEqual(readings(1), first)
    assert.deepEqual(first.slice(0, 2), [Date.UTC(2031, 0, 1), '2031-01-01T00:00:00.000Z'])
    const other = readings(2)
    for (const [index, value] of first.entries()) if (index > 3) assert.notDeepEqual(other[index], value)
    assert.ok(Date.now() < Date.UTC(2031, 0, 1))
  })

  const found = async (work: () => Promise<unknown>): Promise<string[]> => {
    const reports: string[] = []
    await watchOutside((text) => reports.push(text), work)
    return reports
  }

  const outside: readonly [what: string, work: () => Promise<unknown>, type: RegExp][] = [
    ['a thread that compresses', () => buffer(Readable.from(['text']).pipe(createGzip())), /\(ZLIB\)/],
    ['a thread of the Web Crypto API', () => crypto.subtle.digest('SHA-256', new Uint8Array(8)), /\(HASH\w+\)/],
    ['a file', () => readFile(import.meta.filename), /\(FS\w+\)/],
    // Real time: the timer is the subject.
    ['a timer', () => new Promise((resolve) => setTimeout(resolve, 1)), /\(Timeout\)/],
  ]
  for (const [what, work, type] of outside) {
    it(`reports that it waited for ${what}`, async () => {
      const [report = ''] = await found(work)
      assert.match(report, type)
      assert.match(report, /determinism\.test\./)
    })
  }

  it('may wait for everything that continues in the order of the program', async () => {
    const work = async (): Promise<void> => {
      await Promise.resolve()
      await setImmediate()
      await new Promise<void>((resolve) => process.nextTick(resolve))
      hkdfSync('sha256', 'key', 'salt', 'info', 32)
      new AsyncResource('own').runInAsyncScope(() => {})
      queueMicrotask(() => {})
      await setImmediate()
    }
    assert.deepEqual(await found(work), [])
  })
})
