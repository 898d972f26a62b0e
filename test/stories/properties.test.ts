/**
 * `/<actor>/properties`: values, one at a time and together, with a test for each row of WIRE-PROP-01 to WIRE-PROP-03.
 */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { answered, changesNothing, done, everythingStored, refused } from '../support/stored.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const creator = { kind: 'creator', via: 'basic' }

async function body(answer: Response, status = 200): Promise<string> {
  const text = await answer.text()
  assert.equal(answer.status, status, text)
  return text
}

/** The body of the listing as it was sent, which shows the spelling of numbers and the order of names. */
async function listing(actor: TestActor, query = ''): Promise<string> {
  return body(await actor.request('GET', `/properties${query}`))
}

function changesOf(service: TestService): object[] {
  return service.changes.map(({ subtarget, resource, blob }) => ({ subtarget, resource, blob }))
}

forEachService((start) => {
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start()
  })
  const fresh = async (stored?: object): Promise<TestActor> => {
    actor = await service.createActor()
    if (stored !== undefined) assert.equal((await actor.request('POST', '/properties', stored)).status, 201)
    service.reset()
    return actor
  }
  const put = (path: string, value?: unknown, headers?: Record<string, string>): Promise<Response> =>
    actor.request('PUT', `/properties${path}`, value, headers)

  describe('a value that was written (CHOICE-07, CHOICE-09, CHOICE-53, CHOICE-56)', () => {
    const text = 'text/plain; charset=utf-8'
    const asJson = 'application/json'
    for (const [how, write, single, type, listed] of [
      ['a PUT of hello', () => put('/a', 'hello'), 'hello', text, '"hello"'],
      ['a PUT of hello without a type', () => put('/a', new TextEncoder().encode('hello')), 'hello', text, '"hello"'],
      ['a PUT of "hello" as JSON', () => put('/a', '"hello"', json), 'hello', text, '"hello"'],
      [
        'a POST of "hello" under its name',
        () => actor.request('POST', '/properties', { a: 'hello' }),
        'hello',
        text,
        '"hello"',
      ],
      ['a PUT of "12" as JSON, which remains a string', () => put('/a', '"12"'), '12', text, '"12"'],
      ['a POST of "12" under its name', () => actor.request('POST', '/properties', { a: '12' }), '12', text, '"12"'],
      [
        'a POST of "{\\"k\\":1}"',
        () => actor.request('POST', '/properties', { a: '{"k":1}' }),
        '{"k":1}',
        text,
        '"{\\"k\\":1}"',
      ],
      ['a POST of "true"', () => actor.request('POST', '/properties', { a: 'true' }), 'true', text, '"true"'],
      ['a form field 12', () => actor.request('POST', '/properties', 'a=12', form), '12', text, '"12"'],
      ['a PUT of 12', () => put('/a', '12'), '12', asJson, '12'],
      ['a POST of 12 under its name', () => actor.request('POST', '/properties', { a: 12 }), '12', asJson, '12'],
      ['a PUT of 12 without a type', () => put('/a', new TextEncoder().encode('12')), '12', asJson, '12'],
      ['a PUT of true', () => put('/a', 'true'), 'true', asJson, 'true'],
      ['a PUT of false', () => put('/a', 'false'), 'false', asJson, 'false'],
      ['a PUT of 0', () => put('/a', '0'), '0', asJson, '0'],
      ['a PUT of []', () => put('/a', '[]'), '[]', asJson, '[]'],
      ['a PUT of {}', () => put('/a', '{}'), '{}', asJson, '{}'],
      ['a PUT of [1,"a",null]', () => put('/a', '[1,"a",null]'), '[1,"a",null]', asJson, '[1,"a",null]'],
      [
        'a POST of an array, which is a value and not a list',
        () => actor.request('POST', '/properties', { a: [1, 2] }),
        '[1,2]',
        asJson,
        '[1,2]',
      ],
      ['an empty string inside an object', () => put('/a', '{"b":""}'), '{"b":""}', asJson, '{"b":""}'],
      ['null inside an object', () => put('/a', '{"b":null}'), '{"b":null}', asJson, '{"b":null}'],
      [
        'insignificant spaces, which are dropped',
        () => put('/a', ' { "b" : [ 1 , 2 ] } '),
        '{"b":[1,2]}',
        asJson,
        '{"b":[1,2]}',
      ],
      [
        'two equal keys, of which the last counts',
        () => put('/a', '{"b":1,"c":2,"b":3}'),
        '{"b":3,"c":2}',
        asJson,
        '{"b":3,"c":2}',
      ],
      [
        'a big integer',
        () => put('/a', '12345678901234567890123'),
        '12345678901234567890123',
        asJson,
        '12345678901234567890123',
      ],
      ['the number 1.0', () => put('/a', '1.0'), '1.0', asJson, '1.0'],
      ['keys that look like integers', () => put('/a', '{"2":1,"1":2}'), '{"2":1,"1":2}', asJson, '{"2":1,"1":2}'],
      ['text in multibyte characters', () => put('/a', 'blåbær 🫐'), 'blåbær 🫐', text, '"blåbær 🫐"'],
      ['a PUT of a form, which is stored as text', () => put('/a', 'k=v&l=w', form), 'k=v&l=w', text, '"k=v&l=w"'],
      ['text that is nearly JSON', () => put('/a', '{"b":'), '{"b":', text, '"{\\"b\\":"'],
    ] as const) {
      it(`is read back in its documented form after ${how} (R-PROP-08)`, async () => {
        await fresh()
        const written = await write()
        assert.ok(written.status === 201 || written.status === 204, String(written.status))
        const answer = await actor.request('GET', '/properties/a')
        assert.equal(answer.headers.get('content-type'), type)
        assert.equal(await body(answer), single)
        assert.equal(await listing(actor), `{"a":${listed}}`)
      })
    }

    it('is read as JSON only by a caller that accepts application/json (R-PROP-08, CHOICE-07)', async () => {
      await fresh({ a: 'hello', b: '12' })
      for (const [accept, type, sent] of [
        ['application/json', 'application/json', '"hello"'],
        ['text/plain, application/json;q=0.5', 'application/json', '"hello"'],
        ['*/*', 'text/plain; charset=utf-8', 'hello'],
        ['application/*', 'text/plain; charset=utf-8', 'hello'],
        ['text/html', 'text/plain; charset=utf-8', 'hello'],
      ] as const) {
        const answer = await actor.request('GET', '/properties/a', undefined, { accept })
        assert.equal(answer.headers.get('content-type'), type, accept)
        assert.equal(await body(answer), sent, accept)
      }
      assert.equal(
        await body(await actor.request('GET', '/properties/b', undefined, { accept: 'application/json' })),
        '"12"',
      )
    })

    for (const [how, remove, status] of [
      ['PUT of an empty body', () => put('/a', ''), 204],
      ['PUT of no body', () => put('/a'), 204],
      ['PUT of an empty JSON string', () => put('/a', '""'), 204],
      ['POST of an empty string', () => actor.request('POST', '/properties', { a: '' }), 201],
      ['PUT of an empty string among several properties', () => put('', { a: '' }), 204],
      ['an empty form field', () => actor.request('POST', '/properties', 'a=', form), 201],
      ['POST of an empty body to the name', () => actor.request('POST', '/properties/a', ''), 201],
    ] as const) {
      it(`is deleted by ${how}, and the change reports "" (R-PROP-08, CHOICE-09)`, async () => {
        await fresh({ a: 'there', b: 1 })
        const answer = await remove()
        assert.equal(answer.status, status)
        assert.equal((await actor.request('GET', '/properties/a')).status, 404)
        assert.equal(await listing(actor), '{"b":1}')
        assert.equal(service.changes.length, 1)
        const [change] = service.changes
        if (change?.subtarget === null) assert.equal(change.blob, '{"a":""}')
        else assert.deepEqual([change?.subtarget, change?.blob], ['a', '""'])
      })
    }

    it('cannot be null, which answers 400 and changes nothing (R-PROP-08, CHOICE-53)', async () => {
      await fresh({ a: 'there' })
      await changesNothing(service, async () => {
        const message = 'Cannot set "a": null is not a property value'
        await refused(await put('/a', 'null'), 400, 'invalid_value', message)
        await refused(await actor.request('POST', '/properties/a', 'null'), 400, 'invalid_value', message)
        await refused(await actor.request('POST', '/properties', { b: 1, a: null }), 400, 'invalid_value', message)
        await refused(await put('', { b: 1, a: null }), 400, 'invalid_value', message)
      })
    })

    it('cannot be invalid JSON, an unsupported media type or invalid UTF-8 (R-PROP-08, CHOICE-56)', async () => {
      await fresh({ a: 'there' })
      await changesNothing(service, async () => {
        await refused(await put('/a', 'hello', json), 400, 'invalid_json', /./)
        await refused(
          await put('/a', '<a/>', { 'content-type': 'text/xml' }),
          415,
          'unsupported_media_type',
          /"text\/xml"$/,
        )
        await refused(
          await put('/a', '--x--', { 'content-type': 'multipart/form-data; boundary=x' }),
          415,
          'unsupported_media_type',
          'Cannot read a body of type "multipart/form-data"',
        )
        const bytes = await service.request(`/${actor.id}/properties/a`, {
          method: 'PUT',
          body: new Uint8Array([0xff, 0xfe]),
          headers: { authorization: actor.authorization },
        })
        await refused(bytes, 400, 'bad_request', 'Cannot read the body: it is not valid UTF-8')
      })
    })
  })

  describe('the name of a property (CHOICE-52)', () => {
    for (const name of [
      'a b',
      'a.b',
      'a;b',
      'a\\b',
      'a%b',
      'a?b#c',
      'ÆØÅ',
      '名前 🫐',
      '_actor_id',
      '_config',
      '__proto__',
      'constructor',
      'a\nb',
      '"quoted"',
      'x'.repeat(300),
      'items',
      'metadata',
      '0',
      'å'.repeat(512),
    ]) {
      it(`can be ${JSON.stringify(name.slice(0, 20))} (R-PROP-07)`, async () => {
        await fresh()
        const path = `/${encodeURIComponent(name)}`
        assert.equal((await actor.request('GET', `/properties${path}`)).status, 404)
        await done(await put(path, { k: 'v' }))
        assert.equal(await body(await actor.request('GET', `/properties${path}`)), '{"k":"v"}')
        assert.equal(await body(await actor.request('GET', `/properties${path}/k`)), '"v"')
        const stored = Object.fromEntries([[name, { k: 'v' }]])
        await answered(await actor.request('GET', '/properties'), 200, stored)
        await done(await actor.request('DELETE', `/properties${path}`))
        assert.equal((await actor.request('POST', '/properties', JSON.stringify(stored), json)).status, 201)
        await answered(await actor.request('GET', '/properties'), 200, stored)
      })
    }

    for (const [name, why] of [
      ['', 'it is empty'],
      ['a/b', 'it contains a slash'],
      ['a\0b', 'it contains NUL'],
      ['list:a', 'names that begin with "list:" are reserved'],
      ['x'.repeat(1025), 'it is longer than 1024 bytes'],
      ['å'.repeat(513), 'it is longer than 1024 bytes'],
    ] as const) {
      it(`is rejected because ${why} (R-PROP-07)`, async () => {
        await fresh({ there: 1 })
        await changesNothing(service, async () => {
          for (const method of ['POST', 'PUT']) {
            const answer = await actor.request(method, '/properties', { ok: 1, [name]: 1 })
            const text = await answer.clone().text()
            assert.ok(text.length < 600)
            await refused(answer, 400, 'invalid_name', new RegExp(`^Cannot use the name "[^]*": ${why}$`))
          }
        })
      })
    }

    it('cannot contain half a surrogate pair (R-PROP-07)', async () => {
      await fresh()
      await changesNothing(service, async () => {
        const answer = await actor.request('POST', '/properties', '{"a\\ud800":1}', json)
        await refused(answer, 400, 'invalid_value', /^The string at position 1 has half of a surrogate pair/)
      })
    })

    it('cannot begin with list: in its own path either (R-PROP-07)', async () => {
      await fresh()
      await changesNothing(service, async () => {
        for (const [method, sent] of [
          ['PUT', '1'],
          ['POST', '1'],
          ['DELETE', undefined],
        ] as const) {
          const answer = await actor.request(method, '/properties/list:a', sent)
          await refused(
            answer,
            400,
            'invalid_name',
            'Cannot use the name "list:a": names that begin with "list:" are reserved',
          )
        }
        await refused(
          await actor.request('GET', '/properties/list:a'),
          404,
          'not_found',
          'The property "list:a" does not exist',
        )
      })
    })

    it('cannot contain an encoded slash or NUL in a path (R-PROP-07)', async () => {
      await fresh({ a: { b: 1 } })
      await changesNothing(service, async () => {
        for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
          for (const path of ['/a%2Fb', '/a/x%2fy', '/a%00']) {
            const answer = await actor.request(method, `/properties${path}`, method === 'GET' ? undefined : '1')
            await refused(answer, 400, 'invalid_name', /^Cannot use this path: a segment contains /)
          }
        }
      })
    })
  })

  describe('GET /properties', () => {
    it('returns an empty object for an empty store (R-PROP-01)', async () => {
      await fresh()
      const answer = await actor.request('GET', '/properties')
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(await body(answer), '{}')
      assert.equal(await listing(actor, '?format=full'), '{}')
      assert.equal(await listing(actor, '?metadata=true'), '{"simple":{"properties":[],"total_bytes":0},"lists":{}}')
    })

    describe('with values and lists', () => {
      const lists = {
        notes: { _type: 'list', description: 'My notes', explanation: 'One each' },
        empty: { _type: 'list' },
      }
      const filled = async (): Promise<void> => {
        await fresh({ zeta: 1, alpha: 'A', Beta: { x: [1, 'ø'] }, ...lists })
        assert.equal(
          (await actor.request('POST', '/properties', { notes: { items: [{ index: 0, t: 'milk' }] } })).status,
          201,
        )
      }
      const short =
        '{"Beta":{"x":[1,"ø"]},"alpha":"A","zeta":1,"empty":{"_list":true,"count":0},"notes":{"_list":true,"count":1}}'

      for (const query of [
        '',
        '?format=short',
        '?format=other',
        '?format=',
        '?metadata=',
        '?metadata=1',
        '?metadata=TRUE',
        '?metadata=false&format=short',
      ]) {
        it(`returns values by name, then lists with their counts${query === '' ? '' : ` for ${query}`} (R-PROP-01)`, async () => {
          await filled()
          assert.equal(await listing(actor, query), short)
        })
      }

      it('includes descriptions and items of lists for format=full, in any case of the parameter name (R-PROP-01)', async () => {
        await filled()
        const full =
          '{"Beta":{"x":[1,"ø"]},"alpha":"A","zeta":1,' +
          '"empty":{"_list":true,"count":0,"description":"","explanation":"","items":[]},' +
          '"notes":{"_list":true,"count":1,"description":"My notes","explanation":"One each","items":[{"t":"milk"}]}}'
        assert.equal(await listing(actor, '?format=full'), full)
        assert.equal(await listing(actor, '?FORMAT=full'), full)
      })

      it('returns names, counts and sizes for metadata=true, with sizes as Python peers count them (R-PROP-01)', async () => {
        await filled()
        // `{"x": [1, "\u00f8"]}` has 20 characters, "A" 3, 1 has 1, and `{"t": "milk"}` has 13.
        await answered(await actor.request('GET', '/properties?metadata=true'), 200, {
          simple: { properties: ['Beta', 'alpha', 'zeta'], total_bytes: 24 },
          lists: {
            empty: { count: 0, total_bytes: 0, description: '', explanation: '' },
            notes: { count: 1, total_bytes: 13, description: 'My notes', explanation: 'One each' },
          },
        })
      })

      for (const format of ['full', 'short', 'x']) {
        it(`rejects metadata=true together with format=${format} (R-PROP-01)`, async () => {
          await filled()
          await refused(
            await actor.request('GET', `/properties?metadata=true&format=${format}`),
            400,
            'bad_request',
            'Cannot give both metadata and a format',
          )
        })
      }

      it('ignores a trailing slash (R-PROP-01)', async () => {
        await filled()
        assert.equal(await body(await actor.request('GET', '/properties/')), short)
      })

      it('marks a damaged list, and answers 409 with format=full and metadata=true (R-PROP-01)', async () => {
        await filled()
        const { store } = await service.app.running()
        await store.write((tx) =>
          tx.run("UPDATE property SET value = '{}' WHERE actor_id = $1 AND name = 'notes'", actor.id),
        )
        await answered(await actor.request('GET', '/properties'), 200, {
          Beta: { x: [1, 'ø'] },
          alpha: 'A',
          zeta: 1,
          empty: { _list: true, count: 0 },
          notes: { _list: true, count: null, error: 'list_corrupted' },
        })
        for (const query of ['?format=full', '?metadata=true']) {
          const answer = await actor.request('GET', `/properties${query}`)
          assert.equal(answer.status, 409)
          const refusal = (await answer.json()) as Record<string, unknown>
          assert.deepEqual(
            [refusal['error'], refusal['list'], refusal['remedy'], typeof refusal['detail'], typeof refusal['message']],
            ['list_corrupted', 'notes', 'compact', 'string', 'string'],
          )
        }
      })
    })
  })

  describe('GET /properties/<name>[/<sub>…]', () => {
    const stored = {
      settings: {
        theme: 'dark',
        size: 4,
        off: false,
        zero: 0,
        none: null,
        empty: '',
        deep: { a: { b: [1] } },
        '': 'x',
      },
      plain: 'text',
      number: 5,
      array: [{ a: 1 }],
    }

    for (const [path, sent] of [
      ['settings/theme', '"dark"'],
      ['settings/size', '4'],
      ['settings/off', 'false'],
      ['settings/zero', '0'],
      ['settings/none', 'null'],
      ['settings/empty', '""'],
      ['settings/deep', '{"a":{"b":[1]}}'],
      ['settings/deep/a', '{"b":[1]}'],
      ['settings/deep/a/b', '[1]'],
      ['number?format=full&metadata=true&index=3', '5'],
      ['settings/theme?index=0', '"dark"'],
    ] as const) {
      it(`returns ${sent} for ${path}, as JSON (R-PROP-03)`, async () => {
        await fresh(stored)
        const answer = await actor.request('GET', `/properties/${path}`)
        assert.equal(answer.headers.get('content-type'), 'application/json')
        assert.equal(await body(answer), sent)
      })
    }

    for (const path of [
      'nothing',
      'nothing/below',
      'settings/missing',
      'settings/Theme',
      'settings/theme/x',
      'settings/size/x',
      'settings/deep/a/b/0',
      'settings/',
      'settings//theme',
      'settings/deep/',
      'plain/x',
      'number/x',
      'array/0',
      'array/length',
      'settings/__proto__',
      'settings/constructor',
      'settings/toString',
    ]) {
      it(`answers 404 for ${path} (R-PROP-03, CHOICE-54)`, async () => {
        await fresh(stored)
        await refused(
          await actor.request('GET', `/properties/${path}`),
          404,
          'not_found',
          `The property ${JSON.stringify(path)} does not exist`,
        )
      })
    }
  })

  describe('POST and PUT /properties (CHOICE-05)', () => {
    it('sets each key of a POST, keeps the others, and answers 201 with the stored values (R-PROP-02)', async () => {
      await fresh({ stays: 1, a: 'old' })
      const answer = await actor.request(
        'POST',
        '/properties',
        '{"a":{"2":1.0,"1":2},"b":"text","c":12345678901234567890}',
        json,
      )
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(await body(answer, 201), '{"a":{"2":1.0,"1":2},"b":"text","c":12345678901234567890}')
      assert.equal(await listing(actor), '{"a":{"2":1.0,"1":2},"b":"text","c":12345678901234567890,"stays":1}')
    })

    it('sets each key of a PUT likewise, and answers 204 (R-PROP-02)', async () => {
      await fresh({ stays: 1, a: 'old' })
      await done(await put('', { a: { k: 1 }, b: 2 }))
      assert.equal(await listing(actor), '{"a":{"k":1},"b":2,"stays":1}')
      await done(await put('', {}))
      assert.equal(await listing(actor), '{"a":{"k":1},"b":2,"stays":1}')
    })

    it('records the request as one change of its caller, without a subtarget and with the stored values (R-PROP-02)', async () => {
      await fresh()
      await actor.request('POST', '/properties', { a: 1, b: { c: 2 } })
      await put('', { a: '' })
      assert.deepEqual(service.changes, [
        {
          target: 'properties',
          subtarget: null,
          resource: null,
          blob: '{"a":1,"b":{"c":2}}',
          actorId: actor.id,
          by: creator,
        },
        { target: 'properties', subtarget: null, resource: null, blob: '{"a":""}', actorId: actor.id, by: creator },
      ])
    })

    it('sets a string for each form field, using the first value of a name (R-PROP-02)', async () => {
      await fresh()
      const answer = await actor.request('POST', '/properties', 'a=1&b=two+words&a=3&_method=X', form)
      assert.equal(await body(answer, 201), '{"a":"1","b":"two words"}')
      const multipart = new FormData()
      multipart.append('c', 'three')
      const sent = await service.request(`/${actor.id}/properties`, {
        method: 'POST',
        body: multipart,
        headers: { authorization: actor.authorization },
      })
      assert.equal(await body(sent, 201), '{"c":"three"}')
      assert.equal(await listing(actor), '{"a":"1","b":"two words","c":"three"}')
    })

    it('accepts the name and the value of one property as fields of the body or the query (R-PROP-02)', async () => {
      await fresh()
      assert.equal(
        await body(await actor.request('POST', '/properties', 'property=a&value=12', form), 201),
        '{"a":"12"}',
      )
      assert.equal(
        await body(await actor.request('POST', '/properties', 'property=b&property_type=simple&value=x', form), 201),
        '{"b":"x"}',
      )
      assert.equal(await body(await actor.request('POST', '/properties?property=c&value=y'), 201), '{"c":"y"}')
      assert.equal(await body(await actor.request('POST', '/properties?d=z'), 201), '{"d":"z"}')
      assert.equal(await listing(actor), '{"a":"12","b":"x","c":"y","d":"z"}')
    })

    it('ignores the query beside a JSON body (R-PROP-02)', async () => {
      await fresh()
      assert.equal(await body(await actor.request('POST', '/properties?foo=bar', { a: 1 }), 201), '{"a":1}')
      assert.equal(await listing(actor), '{"a":1}')
    })

    for (const fields of ['property=a', 'property=a&value=', 'property=a&property_type=other&value=1']) {
      it(`rejects the form ${fields} (R-PROP-02)`, async () => {
        await fresh()
        await changesNothing(service, async () =>
          refused(
            await actor.request('POST', '/properties', fields, form),
            400,
            'bad_request',
            'Cannot set the property: the form needs a value, or property_type "list"',
          ),
        )
      })
    }

    for (const [method, sent, code, message] of [
      ['POST', '{}', 'bad_request', 'Cannot set properties: the object is empty'],
      ['POST', '[]', 'bad_request', 'Cannot set properties: the body must be a JSON object'],
      ['POST', '[1]', 'bad_request', 'Cannot set properties: the body must be a JSON object'],
      ['POST', '5', 'bad_request', 'Cannot set properties: the body must be a JSON object'],
      ['POST', '"x"', 'bad_request', 'Cannot set properties: the body must be a JSON object'],
      ['POST', 'null', 'bad_request', 'Cannot set properties: the body must be a JSON object'],
      ['POST', '', 'invalid_json', 'Cannot set properties: the body is neither JSON nor a form'],
      ['POST', 'a=b', 'invalid_json', 'Cannot set properties: the body is neither JSON nor a form'],
      ['PUT', '[]', 'bad_request', 'Cannot set properties: the body must be a JSON object'],
      ['PUT', '5', 'bad_request', 'Cannot set properties: the body must be a JSON object'],
      ['PUT', 'null', 'bad_request', 'Cannot set properties: the body must be a JSON object'],
      ['PUT', '', 'invalid_json', 'Cannot set properties: the body is not JSON'],
      ['PUT', 'a=b', 'invalid_json', 'Cannot set properties: the body is not JSON'],
    ] as const) {
      it(`rejects a ${method} of ${sent === '' ? 'an empty body' : sent} with 400 (R-PROP-02)`, async () => {
        await fresh({ a: 1 })
        await changesNothing(service, async () =>
          refused(await actor.request(method, '/properties', sent), 400, code, message),
        )
      })
    }

    for (const method of ['POST', 'PUT']) {
      for (const [what, bad, status, code] of [
        ['the name of a list', { notes: 1 }, 409, 'conflict'],
        ['a list with the name of a value', { there: { _type: 'list' } }, 409, 'conflict'],
        ['a bad name', { 'list:x': 1 }, 400, 'invalid_name'],
        ['a bad name of a list', { _x: { _type: 'list' } }, 400, 'invalid_name'],
        ['null', { x: null }, 400, 'invalid_value'],
        ['items that are not an array', { notes: { items: 1 } }, 400, 'invalid_value'],
        ['items for a value', { there: { items: [{ index: 0, a: 1 }] } }, 400, 'invalid_value'],
        ['an index beyond the end', { notes: { items: [{ index: 5, a: 1 }] } }, 400, 'invalid_index'],
      ] as const) {
        it(`stores nothing of a ${method} that contains ${what} (R-PROP-02, R-PROP-04)`, async () => {
          await fresh({ there: 1, notes: { _type: 'list' } })
          await changesNothing(service, async () => {
            const sent = { first: 1, made: { _type: 'list' }, ...bad, last: 2 }
            await refused(await actor.request(method, '/properties', sent), status, code, /^Cannot /)
          })
        })
      }
    }

    it('reads the method from _method when a form cannot send it (R-PROP-02, CHOICE-11)', async () => {
      await fresh({ a: 1, b: 2 })
      await done(await actor.request('POST', '/properties/a', '_method=PUT&value=changed', form))
      assert.equal(await body(await actor.request('GET', '/properties/a')), 'changed')
      await done(await actor.request('POST', '/properties/a', '_method=DELETE', form))
      await done(await actor.request('GET', '/properties/b?_method=DELETE'))
      assert.equal(await listing(actor), '{}')
      for (const other of ['delete', 'PATCH', 'X'])
        assert.equal((await actor.request('GET', `/properties?_method=${other}`)).status, 200)
    })
  })

  describe('a name that is either a value or a list', () => {
    it('answers 409 to every way of writing a value over a list, and changes nothing (R-PROP-04)', async () => {
      await fresh({ notes: { _type: 'list' } })
      const message = 'Cannot set "notes": a list has this name'
      await changesNothing(service, async () => {
        await refused(await put('/notes', '1'), 409, 'conflict', message)
        await refused(await put('/notes', ''), 409, 'conflict', message)
        await refused(await put('', { notes: 1 }), 409, 'conflict', message)
        await refused(await actor.request('POST', '/properties', { notes: { a: 1 } }), 409, 'conflict', message)
        await refused(await actor.request('POST', '/properties', { notes: '' }), 409, 'conflict', message)
        await refused(await actor.request('POST', '/properties', 'notes=1', form), 409, 'conflict', message)
      })
    })

    it('answers 409 when a list is created over a value, and changes nothing (R-PROP-04)', async () => {
      await fresh({ there: 1 })
      const message = 'Cannot create the list "there": a property has this name'
      await changesNothing(service, async () => {
        const sent = { there: { _type: 'list' } }
        await refused(await actor.request('POST', '/properties', sent), 409, 'conflict', message)
        await refused(await put('', sent), 409, 'conflict', message)
        const fields = 'property=there&property_type=list'
        await refused(await actor.request('POST', '/properties', fields, form), 409, 'conflict', message)
      })
    })

    it('can change its kind after the first one was deleted (R-PROP-04)', async () => {
      await fresh({ a: 1, b: { _type: 'list' } })
      await done(await actor.request('DELETE', '/properties/a'))
      await done(await actor.request('DELETE', '/properties/b'))
      assert.equal((await actor.request('POST', '/properties', { a: { _type: 'list' }, b: 1 })).status, 201)
      assert.equal(await listing(actor), '{"b":1,"a":{"_list":true,"count":0}}')
    })

    it('accepts only one of two concurrent writes of different kinds (R-PROP-04)', async () => {
      await fresh()
      for (let round = 0; round < 10; round++) {
        const name = `n${round}`
        const answers = await Promise.all([
          actor.request('PUT', `/properties/${name}`, '1'),
          actor.request('POST', '/properties', { [name]: { _type: 'list' } }),
        ])
        const statuses = answers.map(({ status }) => status)
        assert.ok(statuses.includes(409) && (statuses.includes(204) || statuses.includes(201)), String(statuses))
      }
    })
  })

  describe('PUT /properties/<name>[/<sub>…]', () => {
    it('replaces the entire value of a name (R-PROP-03)', async () => {
      await fresh({ a: { b: 1, c: 2 } })
      await done(await put('/a', { d: 3 }))
      assert.equal(await listing(actor), '{"a":{"d":3}}')
      assert.deepEqual(changesOf(service), [{ subtarget: 'a', resource: null, blob: '{"d":3}' }])
    })

    for (const [what, stored, path, sent, after, resource, blob] of [
      ['sets a key', { b: 1 }, '/c', '2', '{"b":1,"c":2}', 'c', '2'],
      ['replaces a key', { b: 1, c: 2 }, '/b', '"x"', '{"b":"x","c":2}', 'b', '"x"'],
      ['stores text at a key', { b: 1 }, '/b', 'plain text', '{"b":"plain text"}', 'b', '"plain text"'],
      ['stores null at a key (CHOICE-53)', { b: 1 }, '/b', 'null', '{"b":null}', 'b', 'null'],
      [
        'merges an object into an object',
        { b: { x: 1, y: { z: 2 } } },
        '/b',
        '{"y":{"w":3},"x":5}',
        '{"b":{"x":5,"y":{"z":2,"w":3}}}',
        'b',
        '{"y":{"w":3},"x":5}',
      ],
      ['replaces a scalar by an object', { b: 1 }, '/b', '{"x":1}', '{"b":{"x":1}}', 'b', '{"x":1}'],
      ['replaces an array', { b: [1, 2] }, '/b', '[3]', '{"b":[3]}', 'b', '[3]'],
      [
        'creates missing levels',
        { b: 1 },
        '/c/d/e',
        '{"f":1}',
        '{"b":1,"c":{"d":{"e":{"f":1}}}}',
        'c',
        '{"d":{"e":{"f":1}}}',
      ],
      [
        'merges three levels down',
        { c: { d: { e: 1, f: 2 }, g: 3 } },
        '/c/d/e',
        '9',
        '{"c":{"d":{"e":9,"f":2},"g":3}}',
        'c',
        '{"d":{"e":9}}',
      ],
      [
        'keeps big numbers and the order of keys',
        { '2': 1, '1': 2 },
        '/3',
        '12345678901234567890',
        '{"1":2,"2":1,"3":12345678901234567890}',
        '3',
        '12345678901234567890',
      ],
    ] as const) {
      it(`${what} below a name, and records the change at that depth (R-PROP-03, CHOICE-20)`, async () => {
        await fresh({ a: stored })
        await done(await put(`/a${path}`, sent))
        assert.equal(await body(await actor.request('GET', '/properties/a')), after)
        assert.deepEqual(service.changes, [
          {
            target: 'properties',
            subtarget: 'a',
            resource,
            path: path.split('/').slice(1),
            blob,
            actorId: actor.id,
            by: creator,
          },
        ])
      })
    }

    for (const [what, path, sent, after] of [
      ['an empty string', '/b', '', '{"b":"","c":2}'],
      ['an empty string inside an object', '/b', '{"x":{"y":""}}', '{"b":{"x":{"y":""}},"c":2}'],
      ['an empty object', '/d', '{}', '{"b":1,"c":2,"d":{}}'],
    ] as const) {
      it(`stores ${what} below a name, and records the entire property, because a diff of the key would mean a deletion (R-PROP-03)`, async () => {
        await fresh({ a: { b: 1, c: 2 } })
        await done(await put(`/a${path}`, sent))
        assert.equal(await body(await actor.request('GET', '/properties/a')), after)
        assert.deepEqual(changesOf(service), [{ subtarget: 'a', resource: null, blob: after }])
      })
    }

    it('creates the property, at any depth (R-PROP-03)', async () => {
      await fresh()
      await done(await put('/a/b/c/d', '1'))
      assert.equal(await listing(actor), '{"a":{"b":{"c":{"d":1}}}}')
      assert.deepEqual(changesOf(service), [{ subtarget: 'a', resource: 'b', blob: '{"c":{"d":1}}' }])
    })

    for (const [what, stored, path] of [
      ['a number', 5, 'x'],
      ['a string', 'text', 'x'],
      ['a string that looks like an object', '{"x":1}', 'x'],
      ['an array', [1, 2], '0'],
      ['true', true, 'x'],
    ] as const) {
      it(`answers 409 to a write below ${what}, and changes nothing (R-PROP-03, CHOICE-54)`, async () => {
        await fresh({ a: stored, o: { a: stored } })
        await changesNothing(service, async () => {
          for (const method of ['PUT', 'POST']) {
            await refused(
              await actor.request(method, `/properties/a/${path}`, '1'),
              409,
              'conflict',
              `Cannot write "${path}": the stored value is not an object`,
            )
            await refused(
              await actor.request(method, `/properties/o/a/${path}`, '1'),
              409,
              'conflict',
              `Cannot write "a/${path}": the value at "a" is not an object`,
            )
          }
        })
      })
    }

    it('rejects an empty path segment (R-PROP-07)', async () => {
      await fresh({ a: { b: 1, '': 2 } })
      await changesNothing(service, async () => {
        for (const path of ['/a/', '/a//b', '/a/b/'])
          await refused(await put(path, '1'), 404, 'not_found', /^Cannot write "a\/.*": a segment is empty$/)
      })
    })

    it('rejects a value that would be nested too deeply (R-PROP-08)', async () => {
      await fresh({ a: {} })
      const path = '/x'.repeat(70)
      await changesNothing(service, async () =>
        refused(await put(`/a${path}`, '1'), 400, 'invalid_value', 'The value would be nested deeper than 64 levels'),
      )
    })
  })

  describe('POST /properties/<name> (CHOICE-08)', () => {
    it('sets the property, and answers 201 with its address and the stored value (R-PROP-03)', async () => {
      await fresh()
      const answer = await actor.request('POST', '/properties/a%20b', { k: 1 })
      assert.equal(answer.headers.get('location'), `http://troupe.test/${actor.id}/properties/a%20b`)
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(await body(answer, 201), '{"k":1}')
      assert.equal(await body(await actor.request('POST', '/properties/text', 'plain'), 201), '"plain"')
      assert.equal(await listing(actor), '{"a b":{"k":1},"text":"plain"}')
      assert.deepEqual(changesOf(service), [
        { subtarget: 'a b', resource: null, blob: '{"k":1}' },
        { subtarget: 'text', resource: null, blob: '"plain"' },
      ])
    })

    it('merges below a name as PUT does (R-PROP-03)', async () => {
      await fresh({ a: { b: { c: 1 } } })
      const answer = await actor.request('POST', '/properties/a/b/d', '2')
      assert.equal(answer.headers.get('location'), `http://troupe.test/${actor.id}/properties/a/b/d`)
      assert.equal(await body(answer, 201), '2')
      assert.equal(await listing(actor), '{"a":{"b":{"c":1,"d":2}}}')
      assert.deepEqual(changesOf(service), [{ subtarget: 'a', resource: 'b', blob: '{"d":2}' }])
    })
  })

  describe('DELETE', () => {
    it('removes a property, and answers 204 also when it does not exist (R-PROP-03)', async () => {
      await fresh({ a: 1, b: 2 })
      await done(await actor.request('DELETE', '/properties/a'))
      await refused(await actor.request('GET', '/properties/a'), 404, 'not_found', 'The property "a" does not exist')
      await done(await actor.request('DELETE', '/properties/a'))
      await done(await actor.request('DELETE', '/properties/never'))
      assert.equal(await listing(actor), '{"b":2}')
      assert.deepEqual(changesOf(service)[0], { subtarget: 'a', resource: null, blob: '""' })
    })

    for (const [path, after, resource, blob] of [
      ['b', '{"c":{"d":{"e":1,"f":2}},"n":null}', 'b', '""'],
      ['n', '{"b":1,"c":{"d":{"e":1,"f":2}}}', 'n', '""'],
      ['c', '{"b":1,"n":null}', 'c', '""'],
      ['c/d', '{"b":1,"c":{},"n":null}', 'c', '{"d":""}'],
      ['c/d/e', '{"b":1,"c":{"d":{"f":2}},"n":null}', 'c', '{"d":{"e":""}}'],
    ] as const) {
      it(`removes only the key ${path}, and records "" at that depth (R-PROP-03, CHOICE-20)`, async () => {
        await fresh({ a: { b: 1, c: { d: { e: 1, f: 2 } }, n: null }, z: 1 })
        await done(await actor.request('DELETE', `/properties/a/${path}`))
        assert.equal(await listing(actor), `{"a":${after},"z":1}`)
        assert.deepEqual(service.changes, [
          {
            target: 'properties',
            subtarget: 'a',
            resource,
            path: path.split('/'),
            blob,
            actorId: actor.id,
            by: creator,
          },
        ])
      })
    }

    for (const path of ['a/x', 'a/b/x', 'a/', 'a//b', 'missing/x', 'text/x', 'number/x', 'array/0', 'a/b/']) {
      it(`answers 404 for ${path}, where no key exists, and changes nothing (R-PROP-03)`, async () => {
        await fresh({ a: { b: 1, '': 1 }, text: 't', number: 5, array: [1] })
        await changesNothing(service, async () =>
          refused(
            await actor.request('DELETE', `/properties/${path}`),
            404,
            'not_found',
            `Cannot delete "${path}": the key does not exist`,
          ),
        )
      })
    }

    it('removes all values and lists of /properties, and records a change for each (R-PROP-02, CHOICE-06)', async () => {
      await fresh({ a: 1, b: { c: 2 }, notes: { _type: 'list' } })
      await actor.request('POST', '/properties', { notes: { items: [{ index: 0, t: 1 }] } })
      service.reset()
      await done(await actor.request('DELETE', '/properties'))
      assert.equal(await listing(actor), '{}')
      assert.deepEqual(service.changes, [
        { target: 'properties', subtarget: 'a', resource: null, blob: '""', actorId: actor.id, by: creator },
        { target: 'properties', subtarget: 'b', resource: null, blob: '""', actorId: actor.id, by: creator },
        {
          target: 'properties',
          subtarget: 'notes',
          resource: null,
          blob: '{"list":"notes","operation":"delete_all","length":0,"action":"delete_all"}',
          list: { operation: 'delete_all', length: 0 },
          actorId: actor.id,
          by: creator,
        },
      ])
      const stored = await everythingStored(service)
      for (const table of ['property', 'list_node', 'list_item'] as const)
        assert.deepEqual(
          stored[table].filter((row) => row['actor_id'] === actor.id),
          [],
        )
      service.reset()
      await done(await actor.request('DELETE', '/properties'))
      assert.deepEqual(service.changes, [])
    })

    it('does not affect other actors (R-PROP-02)', async () => {
      const other = await fresh({ a: 1 })
      await fresh({ a: 2 })
      await done(await actor.request('DELETE', '/properties'))
      assert.equal(await listing(other), '{"a":1}')
    })
  })

  describe('a change and its diffs', () => {
    const writes: readonly (readonly [string, () => Promise<Response>])[] = [
      ['PUT of a name', () => put('/a', '2')],
      ['PUT below a name', () => put('/o/x', '2')],
      ['POST of several', () => actor.request('POST', '/properties', { a: 2, n: 3, made: { _type: 'list' } })],
      ['DELETE of a name', () => actor.request('DELETE', '/properties/a')],
      ['DELETE of a key', () => actor.request('DELETE', '/properties/o/x')],
      ['DELETE of all', () => actor.request('DELETE', '/properties')],
      ['an added item', () => actor.request('POST', '/properties/notes/items', { action: 'add', item_value: 1 })],
      ['a removed list', () => actor.request('DELETE', '/properties/notes')],
    ]

    it('are both rolled back, and not reported, when any statement fails (R-PROP-10)', async () => {
      let store: FaultyStore | undefined
      const [shared, own] = [service, await start({ wrapStore: (inner) => (store = faulty(inner)) })]
      service = own
      try {
        for (const [what, write] of writes) {
          await fresh({ a: 1, o: { x: 1 }, email: 'e@example.com', notes: { _type: 'list' } })
          for (let at = 1; ; at++) {
            const before = await everythingStored(service)
            store?.plan({ at })
            const answer = await write()
            const failed = store?.failed === 1
            store?.plan()
            if (!failed) {
              assert.ok(answer.ok, what)
              assert.ok(at > 2, what)
              break
            }
            await refused(answer, 503, 'store_unavailable', 'Storage cannot be used right now')
            assert.deepEqual(await everythingStored(service), before, `${what}, statement ${at}`)
          }
        }
      } finally {
        service = shared
      }
    })

    it('are both rolled back when the diffs cannot be stored (R-PROP-10)', async () => {
      let failing = false
      const [shared, own] = [
        service,
        await start({
          changeSink: () => (failing ? Promise.reject(new Error('no followers')) : Promise.resolve()),
        }),
      ]
      service = own
      try {
        for (const [what, write] of writes) {
          await fresh({ a: 1, o: { x: 1 }, notes: { _type: 'list' } })
          failing = true
          const before = await everythingStored(service)
          await refused(await write(), 500, 'server_error', 'The service failed')
          assert.deepEqual(await everythingStored(service), before, what)
          failing = false
          assert.ok((await write()).ok, what)
        }
      } finally {
        service = shared
      }
    })
  })
})
