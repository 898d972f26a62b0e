import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readTraceContext, traceFields } from '../../src/observe/trace-context.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const good = `00-${traceId}-${spanId}-01`

describe('the trace context of a sender (W3C Trace Context)', () => {
  const known: [what: string, traceparent: string, flags: number][] = [
    ['of the first version, recorded', good, 1],
    ['of the first version, not recorded', `00-${traceId}-${spanId}-00`, 0],
    ['with unknown flags', `00-${traceId}-${spanId}-fe`, 0],
    ['with all flags', `00-${traceId}-${spanId}-ff`, 1],
    ['of a later version', `01-${traceId}-${spanId}-01`, 1],
    ['of a later version with more fields', `cc-${traceId}-${spanId}-01-what-comes-then`, 1],
  ]
  for (const [what, traceparent, traceFlags] of known) {
    it(`is accepted ${what}`, () => {
      assert.deepEqual(readTraceContext(traceparent, undefined), { traceId, spanId, traceFlags, isRemote: true })
    })
  }

  const malformed: [what: string, traceparent: unknown][] = [
    ['absent', undefined],
    ['a number', 7],
    ['an object', { traceparent: good }],
    ['a list', [good]],
    ['empty', ''],
    ['in capitals', good.toUpperCase()],
    ['of the invalid version ff', `ff-${traceId}-${spanId}-01`],
    ['of the first version with more fields', `${good}-more`],
    ['of the first version with a dash at its end', `${good}-`],
    ['repeated', `${good}, ${good}`],
    ['with a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['with a span of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['with a short trace', `00-${traceId.slice(1)}-${spanId}-01`],
    ['with a long trace', `00-${traceId}0-${spanId}-01`],
    ['with a short span', `00-${traceId}-${spanId.slice(1)}-01`],
    ['with flags of one digit', `00-${traceId}-${spanId}-1`],
    ['without flags', `00-${traceId}-${spanId}`],
    ['with other separators', good.replaceAll('-', '_')],
    ['with letters that are not hexadecimal digits', `00-${traceId.replace('f', 'g')}-${spanId}-01`],
    ['with space before it', ` ${good}`],
    ['with a line after it', `${good}\n`],
    ['of a later version and too long', `01-${traceId}-${spanId}-01-${'x'.repeat(256)}`],
  ]
  for (const [what, traceparent] of malformed) {
    it(`is ignored when it is ${what}`, () => {
      assert.equal(readTraceContext(traceparent, 'vendor=value'), null)
    })
  }

  it('is forwarded unchanged, in the format of the first version', () => {
    const fields = (traceparent: string, tracestate?: string): unknown => {
      const read = readTraceContext(traceparent, tracestate)
      assert.ok(read !== null)
      return traceFields(read)
    }
    assert.deepEqual(fields(good), { traceparent: good })
    assert.deepEqual(fields(`00-${traceId}-${spanId}-00`), { traceparent: `00-${traceId}-${spanId}-00` })
    assert.deepEqual(fields(`cc-${traceId}-${spanId}-ff-more`), { traceparent: good })
    assert.deepEqual(fields(good, 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'), {
      traceparent: good,
      tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    })
  })

  const members = (count: number): string => Array.from({ length: count }, (_, index) => `k${index}=1`).join(',')
  const states: [what: string, given: unknown, kept: string | undefined][] = [
    ['nothing of an empty string', '', undefined],
    ['nothing of a value that is not a string', ['a=1'], undefined],
    ['only the well-formed members', 'good=1,Bad=2,=3,other=4', 'good=1,other=4'],
    ['no value with a control character', 'a=b\u0000c,d=e', 'd=e'],
    ['512 characters', `k=${'v'.repeat(253)},l=${'v'.repeat(254)}`, `k=${'v'.repeat(253)},l=${'v'.repeat(254)}`],
    ['nothing of more than 512 characters', `k=${'v'.repeat(254)},l=${'v'.repeat(254)}`, undefined],
    ['32 members', members(32), members(32)],
    ['nothing of more than 32 members', members(33), undefined],
  ]
  for (const [what, given, kept] of states) {
    it(`keeps ${what} of a trace state`, () => {
      const read = readTraceContext(good, given)
      assert.equal(read?.traceId, traceId)
      assert.equal(read.traceState?.serialize(), kept)
    })
  }
})
