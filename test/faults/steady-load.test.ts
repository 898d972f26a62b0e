import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { growthOf, type LoadSample, runSteadyLoad } from '../support/steady-load.ts'

for (const store of ['sqlite', 'postgres'] as const) {
  describe(`a service on ${store} under a steady load`, () => {
    it('is measured: every request succeeds, and each sample has its figures (OPS-08)', async () => {
      let rate = 0
      const samples = await runSteadyLoad({
        store,
        seed: 8,
        percent: 30,
        samples: 3,
        sampleMs: 500,
        onRate: (perSecond) => (rate = perSecond),
      })
      assert.equal(samples.length, 3)
      for (const sample of samples) {
        assert.ok(sample.requests > 0 && Math.abs(sample.requests - rate / 2) <= 1, `${sample.requests} of ${rate / 2}`)
        assert.equal(sample.failed, 0)
        assert.ok(sample.p99 >= sample.p50 && sample.p50 > 0, `${sample.p50} ms, ${sample.p99} ms`)
        assert.ok(sample.residentBytes > 2 ** 24 && sample.openFiles > 10 && sample.walBytes > 0)
      }
    })
  })
}

describe('the growth of a service under a steady load', () => {
  const steady: LoadSample = {
    requests: 600,
    failed: 0,
    p50: 2,
    p99: 10,
    residentBytes: 100 * 2 ** 20,
    openFiles: 40,
    walBytes: 4 * 2 ** 20,
  }
  const times = (count: number, sample: LoadSample): LoadSample[] => Array.from({ length: count }, () => sample)
  const run = (late: Partial<LoadSample>): string[] =>
    growthOf([...times(9, steady), ...times(3, { ...steady, ...late })])

  it('has no line for equal samples, and for a start that uses more', () => {
    assert.deepEqual(run({}), [])
    const warm = { ...steady, p99: 500, residentBytes: 2 ** 30 }
    assert.deepEqual(growthOf([warm, warm, ...times(6, steady)]), [])
  })

  for (const [late, expected] of [
    [{ residentBytes: 118 * 2 ** 20 }, []],
    [{ residentBytes: 119 * 2 ** 20 }, ['The memory grew from 100.0 MiB to 119.0 MiB.']],
    [{ openFiles: 48 }, []],
    [{ openFiles: 49 }, ['The number of open files grew from 40 to 49.']],
    [{ walBytes: 21 * 2 ** 20 }, []],
    [{ walBytes: 22 * 2 ** 20 }, ['The write-ahead log grew from 4.0 MiB to 22.0 MiB.']],
    [{ p50: 4 }, []],
    [{ p50: 4.1 }, ['The median latency grew from 2.0 ms to 4.1 ms.']],
    [{ p99: 30 }, []],
    [{ p99: 31 }, ['The 99th percentile of the latency grew from 10.0 ms to 31.0 ms.']],
    [{ residentBytes: Number.NaN }, ['The memory grew from 100.0 MiB to NaN MiB.']],
    [{ failed: 1 }, ['Requests failed.']],
  ] as const) {
    it(`of ${JSON.stringify(late)} is ${expected.length === 0 ? 'allowed' : 'reported'}`, () => {
      assert.deepEqual(run(late), expected)
    })
  }
})
