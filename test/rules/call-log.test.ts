/* cspell:ignore idtoken APIKEY */
/** The lines of the log that handlers of the application receive. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { callLog } from '../../src/observe/call-log.ts'
import { createLog } from '../../src/observe/log.ts'

/** The line of an event, without the fields that each line has. */
function lineOf(fields: object): Record<string, unknown> {
  const lines: string[] = []
  const log = createLog('info', { write: (line: string) => void lines.push(line) })
  callLog(log, 'methods/lend', 'ada').log.info(fields, 'A loan began')
  const { level, time, context, operation, actorId, requestId, msg, ...members } = JSON.parse(lines.join('')) as Record<
    string,
    unknown
  >
  assert.deepEqual([typeof time, typeof context], ['string', 'string'])
  assert.deepEqual(
    { level, operation, actorId, requestId, msg },
    { level: 'info', operation: 'methods/lend', actorId: 'ada', requestId: '', msg: 'A loan began' },
  )
  return members
}

const secretNames = [
  'password',
  'newPassword',
  'wifi_password',
  'Passphrase',
  'secret',
  'CLIENT_SECRET',
  'token',
  'accessToken',
  'refresh_token',
  'idtoken',
  'Authorization',
  'proxy-authorization',
  'cookie',
  'Set-Cookie',
  'apiKey',
  'api_key',
  'x-api-key',
  'APIKEY',
]
const plainNames = ['title', 'tokens', 'cookies', 'passwordLength', 'secretary', 'key', 'authorizationUrl']

/** Puts a value into objects and lists. */
function wrap(value: object, path: readonly (string | null)[]): object {
  return path.reduce<object>((inner, name) => (name === null ? [inner] : { [name]: inner }), value)
}

describe('a line of a handler', () => {
  it('has no value of a member with the name of a secret, at any depth', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...secretNames),
        fc.oneof(
          fc.constant('planted'),
          fc.constant(['planted']),
          fc.constant({ value: 'planted' }),
          fc.constant(new Error('planted')),
        ),
        fc.array(fc.oneof(fc.constantFrom(...plainNames), fc.constant(null)), { maxLength: 12 }),
        (name, value, path) => {
          const text = JSON.stringify(lineOf({ loan: wrap({ [name]: value }, path), [name]: value }))
          assert.equal(text.includes('planted'), false, text)
          assert.equal(text.split('"[redacted]"').length, 3, text)
        },
      ),
    )
  })

  it('keeps all other members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...plainNames), fc.jsonValue(), { minKeys: 1 }), (fields) =>
        assert.deepEqual(lineOf(fields), JSON.parse(JSON.stringify(fields))),
      ),
    )
  })

  it('keeps true and false, and writes what JSON cannot express', () => {
    const cycle: { self?: unknown; password: string } = { password: 'planted' }
    cycle.self = cycle
    assert.deepEqual(
      lineOf({ hasPassword: true, is_secret: false, cycle, count: 12n, at: new Date(0), gone: undefined }),
      {
        hasPassword: true,
        is_secret: false,
        cycle: '[cannot be written as JSON]',
        count: '12',
        at: '1970-01-01T00:00:00.000Z',
      },
    )
  })

  it('describes an error without the values that it concerns', () => {
    const request = { headers: { 'X-Shop': 'planted' } }
    const error = Object.assign(new Error('Refused', { cause: 'Closed' }), { request, toJSON: () => ({ request }) })
    const { stack, ...described } = lineOf({ error })['error'] as Record<string, unknown>
    assert.match(String(stack), /^Error: Refused\n/)
    assert.deepEqual(described, { name: 'Error', message: 'Refused', cause: { message: 'Closed' } })
    for (const fields of [error, { loan: { error } }, { error: 'Refused' }]) {
      const text = JSON.stringify(lineOf(fields))
      assert.equal(text.includes('planted'), false, text)
      assert.match(text, /"message":"Refused"/)
    }
  })
})
