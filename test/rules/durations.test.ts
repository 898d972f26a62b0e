import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Durations, quantileOf } from '../../src/observe/durations.ts'

const create = () => new Durations('call_seconds', 'Duration of calls', ['route', 'method', 'status'])

/** The lines of the buckets that are not empty, the sum and the count. */
const filled = (text: string): string[] => text.split('\n').filter((line) => !/^#|^$| 0$/.test(line))

describe('a histogram of durations', () => {
  it('counts each duration in its bucket and all larger ones', () => {
    const durations = create()
    durations.observe(['read', 'GET', '200'], 0.5)
    durations.observe(['read', 'GET', '200'], 0.75)
    durations.observe(['read', 'GET', '200'], 4)
    durations.observe(['read', 'GET', '200'], 11)
    assert.deepEqual(filled(durations.render()), [
      'call_seconds_bucket{le="0.5",route="read",method="GET",status="200"} 1',
      'call_seconds_bucket{le="1",route="read",method="GET",status="200"} 2',
      'call_seconds_bucket{le="2.5",route="read",method="GET",status="200"} 2',
      'call_seconds_bucket{le="5",route="read",method="GET",status="200"} 3',
      'call_seconds_bucket{le="10",route="read",method="GET",status="200"} 3',
      'call_seconds_bucket{le="+Inf",route="read",method="GET",status="200"} 4',
      'call_seconds_sum{route="read",method="GET",status="200"} 16.25',
      'call_seconds_count{route="read",method="GET",status="200"} 4',
    ])
  })

  it('has one series for each combination of labels', () => {
    const durations = create()
    for (const status of ['200', '404', '200']) durations.observe(['read', 'GET', status], 1)
    durations.observe(['read', 'PUT', '200'], 1)
    durations.observe(['write', 'PUT', '200'], 1)
    assert.deepEqual(durations.render().match(/^call_seconds_count.*$/gm), [
      'call_seconds_count{route="read",method="GET",status="200"} 2',
      'call_seconds_count{route="read",method="GET",status="404"} 1',
      'call_seconds_count{route="read",method="PUT",status="200"} 1',
      'call_seconds_count{route="write",method="PUT",status="200"} 1',
    ])
  })

  it('has its description before the first duration, and escapes labels', () => {
    const durations = create()
    assert.equal(durations.render(), '# HELP call_seconds Duration of calls\n# TYPE call_seconds histogram\n')
    durations.observe(['a"b', 'c\\d', 'e\nf'], 1)
    assert.match(durations.render(), /\{route="a\\"b",method="c\\\\d",status="e\\nf"\} 1\n$/)
  })

  it('gives the upper bound within which a share of the durations is', () => {
    const durations = create()
    assert.equal(quantileOf(durations.counted(), 0.5), null)
    for (let n = 0; n < 98; n++) durations.observe(['read', 'GET', '200'], 0.002)
    durations.observe(['read', 'GET', '200'], 0.2)
    durations.observe(['write', 'PUT', '500'], 11)
    assert.equal(quantileOf(durations.counted(), 0.5), 0.0025)
    assert.equal(quantileOf(durations.counted(), 0.98), 0.0025)
    assert.equal(quantileOf(durations.counted(), 0.99), 0.25)
    assert.equal(quantileOf(durations.counted(), 1), null)
  })
})
