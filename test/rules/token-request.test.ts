import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readClientCredentials } from '../../src/authorization-server/token-request.ts'

function read(fields: Readonly<Record<string, string>>, authorization?: string, repeated: string | null = null) {
  return readClientCredentials({ get: (name) => fields[name], has: (name) => name in fields, repeated }, authorization)
}
const basic = (bytes: string | Buffer): string => `Basic ${Buffer.from(bytes).toString('base64')}`

describe('the client authentication at the token endpoint', () => {
  const shown: [
    title: string,
    fields: Record<string, string>,
    authorization: string | undefined,
    expected: { clientId: string; secret: string | null; method: string },
  ][] = [
    ['the id alone', { client_id: 'a' }, undefined, { clientId: 'a', secret: null, method: 'none' }],
    [
      'the secret in the body',
      { client_id: 'a', client_secret: 's' },
      undefined,
      { clientId: 'a', secret: 's', method: 'client_secret_post' },
    ],
    ['the secret in the header', {}, basic('a:s:t'), { clientId: 'a', secret: 's:t', method: 'client_secret_basic' }],
    [
      'the secret in the header and the same id in the body',
      { client_id: 'a' },
      basic('a:s'),
      { clientId: 'a', secret: 's', method: 'client_secret_basic' },
    ],
    [
      'form-encoded values in the header',
      {},
      basic('a%3Ab+c:%C3%A9+%25'),
      { clientId: 'a:b c', secret: 'é %', method: 'client_secret_basic' },
    ],
    [
      'an empty secret in a lowercase header with extra spaces',
      {},
      `basic   ${Buffer.from('a:').toString('base64')}  `,
      { clientId: 'a', secret: null, method: 'none' },
    ],
    [
      'the same credentials in the header and in the body',
      { client_id: 'a', client_secret: 's' },
      basic('a:s'),
      { clientId: 'a', secret: 's', method: 'client_secret_basic' },
    ],
  ]
  for (const [title, fields, authorization, expected] of shown) {
    it(`accepts ${title} (OTK-10, OTK-12)`, () => {
      assert.deepEqual(read(fields, authorization), expected)
    })
  }

  it('is rejected when two places differ or a field is repeated (OTK-10)', () => {
    for (const [secret, header] of [
      ['t', 'a:s'],
      ['s', 'a:'],
    ] as const)
      assert.throws(() => read({ client_id: 'a', client_secret: secret }, basic(header)), {
        code: 'invalid_request',
        message: 'The secret is given in two places',
      })
    assert.throws(() => read({ client_id: 'b' }, basic('a:s')), {
      code: 'invalid_request',
      message: 'client_id differs from the Authorization header',
    })
    assert.throws(() => read({ client_id: 'a' }, undefined, 'client_id'), {
      code: 'invalid_request',
      message: 'client_id is given twice',
    })
  })

  it('is rejected without an id (OTK-12)', () => {
    assert.throws(() => read({}), { code: 'invalid_client', message: 'client_id is missing' })
  })

  for (const [what, header] of [
    ['another scheme', 'Bearer YTpz'],
    ['no value', 'Basic '],
    ['no base64', 'Basic a:s'],
    ['no colon', basic('a')],
    ['no id', basic(':s')],
    ['bytes that are not UTF-8', basic(Buffer.from([0x61, 0xff, 0x3a, 0x73]))],
    ['a broken escape in the id', basic('%:s')],
    ['a broken escape in the secret', basic('a:%zz')],
  ] as const) {
    it(`is rejected for a header with ${what} (OTK-12)`, () => {
      assert.throws(() => read({ client_id: 'a' }, header), {
        code: 'invalid_client',
        message: 'The Authorization header is malformed',
      })
    })
  }
})
