import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Readable } from 'node:stream'
import { BodyStream } from '../../src/http/edge/body-stream.ts'
import { type Body, isUrlencoded, readFormText, readJson, readJsonOrForm, readValue } from '../../src/http/edge/body.ts'
import type { HttpRequest } from '../../src/http/edge/request.ts'
import { workOf } from '../support/counted-work.ts'

const limits = { maxBodyBytes: 1000, maxJsonDepth: 4 }

function incoming(type: string | null, body: string | Uint8Array, more: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: 'POST',
    path: '/',
    query: '',
    header: (name) => (name === 'content-type' && type !== null ? type : undefined),
    hasRepeated: () => false,
    body: () => Promise.resolve(typeof body === 'string' ? new TextEncoder().encode(body) : body),
    stream: () => new BodyStream(Readable.from([body])),
    onGone: () => () => {},
    fault: null,
    remoteAddress: null,
    original: new Request('http://troupe.test'),
    ...more,
  }
}

/** A short form of a body: its kind with its JSON, text or fields. */
function brief(body: Body): unknown {
  switch (body.kind) {
    case 'none':
      return 'none'
    case 'json':
      return { json: body.json }
    case 'form':
      return { form: Object.fromEntries(body.form.entries) }
    case 'text':
      return { text: body.text }
    default:
      return body satisfies never
  }
}

const formType = 'application/x-www-form-urlencoded'

describe('a body of JSON or a form', () => {
  const read: [what: string, type: string | null, body: string, outcome: unknown][] = [
    ['JSON', 'application/json', ' {"a": 1} ', { json: '{"a":1}' }],
    ['JSON of a named kind', 'application/merge-patch+json', '1', { json: '1' }],
    ['JSON without a type', null, '[1]', { json: '[1]' }],
    ['text without a type', null, 'a b', { text: 'a b' }],
    ['JSON as text', 'text/plain', '{"a":1}', { json: '{"a":1}' }],
    ['text', 'text/plain; charset=utf-8', 'hello', { text: 'hello' }],
    ['a form', formType, 'a=1&b=%20', { form: { a: '1', b: ' ' } }],
    ['a form with a charset', `${formType};charset=UTF-8`, 'a=1', { form: { a: '1' } }],
    ['nothing', 'application/json', '', 'none'],
    ['nothing as a form', formType, '', 'none'],
  ]
  for (const [what, type, body, outcome] of read) {
    it(`is read as ${what} from type ${type ?? '(none)'} (HTTP-12)`, async () => {
      assert.deepEqual(brief(await readJsonOrForm(incoming(type, body), limits)), outcome)
    })
  }

  it('is rejected when its type is JSON and its content is not (HTTP-12)', async () => {
    await assert.rejects(readJsonOrForm(incoming('application/json', '{"a":'), limits), { code: 'invalid_json' })
    await assert.rejects(readJsonOrForm(incoming('application/ld+json', 'text'), limits), { code: 'invalid_json' })
  })

  it('is rejected, not read as text, when its JSON is nested too deeply (HTTP-02)', async () => {
    for (const type of [null, 'text/plain', 'application/json'])
      await assert.rejects(readJsonOrForm(incoming(type, '[[[[[1]]]]]'), limits), { code: 'invalid_value' })
    assert.deepEqual(brief(await readJsonOrForm(incoming(null, '[[[[1]]]]'), limits)), { json: '[[[[1]]]]' })
  })

  it('is rejected when its bytes are not UTF-8 (HTTP-05)', async () => {
    const bytes = new Uint8Array([0x22, 0xff, 0x22])
    for (const type of [null, 'text/plain', 'application/json', formType, 'multipart/form-data; boundary=b'])
      await assert.rejects(readJsonOrForm(incoming(type, bytes), limits), { code: 'bad_request' })
  })
})

describe('a body that is one value', () => {
  it('keeps the content of a form unparsed, because some programs send the form type by default', async () => {
    assert.deepEqual(brief(await readValue(incoming(formType, 'a=1&b=2'), limits)), { text: 'a=1&b=2' })
    assert.deepEqual(brief(await readValue(incoming(formType, '{"a":1}'), limits)), { json: '{"a":1}' })
  })

  it('rejects a multipart form', async () => {
    const request = incoming('multipart/form-data; boundary=b', '--b--')
    await assert.rejects(readValue(request, limits), { code: 'unsupported_media_type' })
    await assert.rejects(readJson(request, limits), { code: 'unsupported_media_type' })
  })

  it('must not be empty where JSON is required', async () => {
    assert.equal((await readValue(incoming('application/json', ''), limits)).kind, 'none')
    await assert.rejects(readJson(incoming('application/json', ''), limits), { code: 'invalid_json' })
    await assert.rejects(readJson(incoming(null, 'text'), limits), { code: 'invalid_json' })
    assert.equal(await readJson(incoming('text/plain', ' [1 ]'), limits), '[1]')
  })
})

describe('the type of a body', () => {
  const unsupported = [
    '',
    ' ',
    'json',
    'application',
    'application/',
    '/json',
    'application/json/x',
    'application/json x',
    'application/json\ta',
    'application/json\u00a0',
    'application/json, text/plain',
    'application/json;charset',
    'application/json;charset=',
    'application/json;=utf-8',
    'application/json;charset=utf-16',
    'application/json;charset=iso-8859-1',
    'application/json;a b=c',
    'application/+json',
    'application/x+jsonx',
    'text/json',
    'text/html',
    'application/octet-stream',
    '*/*',
  ]
  for (const type of unsupported) {
    it(`is rejected without reading the body when it is ${JSON.stringify(type)} (HTTP-12)`, async () => {
      const request = incoming(type, '{}', { body: () => assert.fail('read') })
      for (const reader of [readJsonOrForm, readValue, readJson])
        await assert.rejects(reader(request, limits), { code: 'unsupported_media_type' })
      assert.equal(isUrlencoded(request), false)
      assert.equal(await readFormText(request, limits), null)
    })
  }

  it('is rejected without reading the body when the header is repeated (HTTP-12)', async () => {
    const request = incoming(formType, 'a=1', {
      hasRepeated: (name) => name === 'content-type',
      body: () => assert.fail('read'),
    })
    for (const reader of [readJsonOrForm, readValue, readJson])
      await assert.rejects(reader(request, limits), { code: 'bad_request' })
    assert.equal(await readFormText(request, limits), null)
  })

  it('is rejected in one pass when it has many spaces inside (HTTP-02)', async () => {
    const request = incoming(`a${' '.repeat(10_000)}b`, '1')
    const { patterns } = await workOf(() =>
      assert.rejects(readValue(request, limits), { code: 'unsupported_media_type' }),
    )
    // Each repetition begins where the text or a run of spaces begins, so none reads a character from many places.
    assert.deepEqual(patterns, ['^ +|(?<! ) +$', "^[!#$%&'*+.^_`|~0-9a-z-]+$"])
  })

  it('does not matter when the body is compressed, because such a body is rejected (HTTP-12)', async () => {
    for (const coding of ['gzip', 'GZIP', 'br', 'identity, gzip', 'x']) {
      const request = incoming(formType, 'a=1', {
        header: (name) => (name === 'content-type' ? formType : name === 'content-encoding' ? coding : undefined),
        body: () => assert.fail('read'),
      })
      for (const reader of [readJsonOrForm, readValue, readJson])
        await assert.rejects(reader(request, limits), { code: 'unsupported_media_type' })
      assert.equal(await readFormText(request, limits), null)
    }
  })

  it('identifies a form in any letter case', async () => {
    for (const type of [formType, formType.toUpperCase(), ` ${formType} `, `${formType}; charset="utf-8"`])
      assert.equal(await readFormText(incoming(type, 'a=1'), limits), 'a=1')
    for (const type of [null, 'text/plain', 'application/json', 'multipart/form-data; boundary=b', `${formType}x`])
      assert.equal(await readFormText(incoming(type, 'a=1'), limits), null)
  })
})

describe('a multipart form', () => {
  const part = (name: string, value: string): string =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const fieldsOf = async (body: string, boundary = 'b'): Promise<unknown> => {
    const request = incoming(`multipart/form-data; boundary=${boundary}`, body)
    return brief(await readJsonOrForm(request, limits))
  }

  it('returns its fields by name, with the first value of each', async () => {
    assert.deepEqual(await fieldsOf(`${part('a', '1')}${part('b', 'two\r\nlines')}${part('a', '3')}--b--\r\n`), {
      form: { a: '1', b: 'two\r\nlines' },
    })
    assert.deepEqual(await fieldsOf(`${part('a', '')}--b--`), { form: { a: '' } })
    assert.deepEqual(await fieldsOf('--b--\r\n'), { form: {} })
  })

  it('may have a quoted boundary, more header fields, a preamble and an epilogue', async () => {
    const body = `preamble\r\n--x y\r\nContent-Type: text/plain\r\ncontent-disposition: FORM-DATA; name="a"\r\n\r\n1\r\n--x y--\r\nepilogue`
    assert.deepEqual(await fieldsOf(body, '"x y"'), { form: { a: '1' } })
  })

  it('decodes field names in the escaping of browsers', async () => {
    assert.deepEqual(await fieldsOf(`${part('a%22b%0D%0Ac', '1')}--b--\r\n`), { form: { 'a"b\r\nc': '1' } })
  })

  it('may have fields named like members of Object.prototype (HTTP-03)', async () => {
    const { form } = (await fieldsOf(`${part('__proto__', 'x')}--b--\r\n`)) as { form: object }
    assert.deepEqual(Object.entries(form), [['__proto__', 'x']])
    assert.equal(({} as Record<string, unknown>)['x'], undefined)
  })

  const refused: [what: string, body: string][] = [
    ['without an end', part('a', '1')],
    ['cut in the middle', `${part('a', '1')}--b`],
    ['without any boundary', 'a=1'],
    ['with a part without headers', '--b\r\n1\r\n--b--\r\n'],
    ['with a part without a name', '--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b--\r\n'],
    ['with a part that is not form data', '--b\r\nContent-Disposition: attachment; name="a"\r\n\r\n1\r\n--b--\r\n'],
    ['with a file', '--b\r\nContent-Disposition: form-data; name="a"; filename="x"\r\n\r\n1\r\n--b--\r\n'],
    [
      'with a file named by filename*',
      '--b\r\nContent-Disposition: form-data; name="a"; filename*=utf-8\'\'x\r\n\r\n1\r\n--b--\r\n',
    ],
    ['with 1001 fields', `${part('a', '1').repeat(1001)}--b--\r\n`],
  ]
  for (const [what, body] of refused) {
    it(`${what} is rejected (HTTP-12)`, async () => {
      await assert.rejects(fieldsOf(body), { code: 'bad_request' })
    })
  }

  it('is rejected without a valid boundary (HTTP-12)', async () => {
    for (const boundary of ['""', '"a\tb"', `"${'x'.repeat(71)}"`, '"é"'])
      await assert.rejects(fieldsOf('--b--\r\n', boundary), /boundary|Cannot read/)
    await assert.rejects(readJsonOrForm(incoming('multipart/form-data', '--b--\r\n'), limits), { code: 'bad_request' })
  })
})
