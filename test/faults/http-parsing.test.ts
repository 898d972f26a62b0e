import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { forEachService, sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { requestText, Wire } from '../support/wire.ts'

/** Returns the keys of the shared prototypes, to prove that no request pollutes them. */
function prototypes(): string {
  return JSON.stringify(
    [Object.prototype, Array.prototype, Function.prototype, Map.prototype, String.prototype].map((prototype) =>
      Reflect.ownKeys(prototype).map(String),
    ),
  )
}

const dangerous = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '__defineSetter__']

forEachService((start) => {
  describe('names that every object inherits', () => {
    let service: TestService
    let actor: TestActor
    const seen: string[] = []
    before(async () => {
      service = await start({
        declare: (app) =>
          app
            .action('probe', ({ input }) => {
              seen.push(JSON.stringify(input), String((input as { isAdmin?: unknown }).isAdmin))
              return {}
            })
            .resource('probe', ({ input }) => {
              seen.push(JSON.stringify(input), String((input as { isAdmin?: unknown }).isAdmin))
              return { ok: true }
            }),
      })
      actor = await service.createActor()
    })

    for (const name of dangerous) {
      it(`such as ${name} are ordinary properties in a path, a body, a form and below an object (HTTP-03)`, async () => {
        const untouched = prototypes()
        const text = async (path: string): Promise<string> => (await actor.request('GET', `/properties${path}`)).text()

        assert.equal((await actor.request('GET', `/properties/${name}`)).status, 404)
        assert.equal((await actor.request('PUT', `/properties/${name}`, '{"isAdmin":true}')).status, 204)
        assert.equal(await text(`/${name}`), '{"isAdmin":true}')
        assert.equal(await text(''), `{"${name}":{"isAdmin":true}}`)
        assert.equal((await actor.request('PUT', `/properties/${name}/${name}/deep`, '1')).status, 204)
        assert.equal(await text(`/${name}`), `{"isAdmin":true,"${name}":{"deep":1}}`)
        assert.equal((await actor.request('PUT', `/properties/${name}`, `{"${name}":{"x":1}}`)).status, 204)
        assert.equal((await actor.request('GET', `/properties/${name}/${name}/x`)).status, 200)
        assert.equal((await actor.request('GET', `/properties/${name}/x`)).status, 404)

        assert.equal((await actor.request('POST', '/properties', `{"${name}":{"a":1},"plain":2}`)).status, 201)
        assert.equal((await actor.request('PUT', '/properties', `{"${name}":{"${name}":{"b":1}}}`)).status, 204)
        assert.equal(await text(`/${name}/${name}`), '{"b":1}')

        const form = await actor.request('POST', '/properties', `${name}=formed&other=1`, {
          'content-type': 'application/x-www-form-urlencoded',
        })
        assert.equal(form.status, 201)
        assert.equal(await form.text(), `{"${name}":"formed","other":"1"}`)
        const query = await actor.request('GET', `/properties?${name}=1&${name}[isAdmin]=1`)
        assert.equal(query.status, 200)
        assert.ok((await query.text()).includes(`"${name}":"formed"`))
        const change = await actor.request('PUT', `/properties/other?${name}=1&${name}[isAdmin]=1`, '1')
        assert.equal(change.status, 400)
        assert.match(await change.text(), new RegExp(`Unknown query parameter .*${name}`))

        const metadata = await text('?metadata=true')
        assert.match(metadata, new RegExp(`"properties":\\["?.*"${name}"`))
        assert.equal((await actor.request('DELETE', `/properties/${name}`)).status, 204)
        assert.equal((await actor.request('GET', `/properties/${name}`)).status, 404)
        await actor.request('DELETE', '/properties')
        assert.equal(prototypes(), untouched)
        assert.equal(({} as Record<string, unknown>)['isAdmin'], undefined)
      })
    }

    it('merge below an object as plain keys, at every depth (HTTP-03)', async () => {
      const untouched = prototypes()
      await actor.request('PUT', '/properties/settings', '{"theme":"dark"}')
      for (const body of [
        '{"__proto__":{"isAdmin":true}}',
        '{"constructor":{"prototype":{"isAdmin":true}}}',
        '{"__proto__":{"__proto__":{"isAdmin":true}}}',
      ]) {
        assert.equal((await actor.request('PUT', '/properties/settings/inner', body)).status, 204)
        assert.equal(({} as Record<string, unknown>)['isAdmin'], undefined)
      }
      assert.equal(
        await (await actor.request('GET', '/properties/settings')).text(),
        '{"theme":"dark","inner":{"__proto__":{"isAdmin":true,"__proto__":{"isAdmin":true}},"constructor":{"prototype":{"isAdmin":true}}}}',
      )
      assert.equal((await actor.request('GET', '/properties/settings/isAdmin')).status, 404)
      assert.equal(prototypes(), untouched)
      await actor.request('DELETE', '/properties')
    })

    it('can name a list, which has its own length and metadata (HTTP-03)', async () => {
      const untouched = prototypes()
      for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
        const created = await actor.request('POST', '/properties', `{"${name}":{"_type":"list","description":"d"}}`)
        assert.equal(created.status, 201)
        assert.equal((await actor.request('POST', `/properties/${name}`, '{"__proto__":1}')).status, 201)
        assert.equal(await (await actor.request('GET', `/properties/${name}`)).text(), '[{"__proto__":1}]')
      }
      const listed = (await (await actor.request('GET', '/properties?metadata=true')).json()) as {
        lists: Record<string, { count: number }>
      }
      assert.deepEqual(Object.keys(listed.lists).sort(), ['constructor', 'hasOwnProperty', 'toString'])
      assert.equal(listed.lists['constructor']?.count, 1)
      await actor.request('DELETE', '/properties')
      assert.equal(prototypes(), untouched)
    })

    it('reach a handler as own members, from which it inherits nothing (HTTP-03)', async () => {
      seen.length = 0
      const body = '{"__proto__":{"isAdmin":true},"constructor":1}'
      assert.equal((await actor.request('POST', '/actions/probe', body)).status, 200)
      assert.equal((await actor.request('PUT', '/resources/probe', body)).status, 200)
      assert.deepEqual(seen, [
        '{"__proto__":{"isAdmin":true},"constructor":1}',
        'undefined',
        '{"__proto__":{"isAdmin":true},"constructor":1,"method":"PUT"}',
        'undefined',
      ])
    })

    it('select no operation and no asset (HTTP-03)', async () => {
      for (const name of dangerous) {
        assert.equal((await actor.request('POST', `/actions/${name}`, '{}')).status, 404)
        assert.equal((await actor.request('GET', `/resources/${name}`)).status, 404)
        assert.equal((await actor.request('GET', `/meta/${name}`)).status, 404)
        assert.equal((await service.request(`/assets/${name}`)).status, 404)
        assert.equal((await service.request(`/${name}`)).status, 404)
      }
    })

    it('are ordinary attributes for the test client (HTTP-03)', async () => {
      const untouched = prototypes()
      const path = '/devtest/attribute/__proto__/__proto__'
      assert.equal((await actor.request('PUT', path, '{"isAdmin":true}')).status, 204)
      assert.match(await (await actor.request('GET', path)).text(), /^\{"data":\{"isAdmin":true\},/)
      assert.equal((await actor.request('DELETE', path)).status, 204)
      assert.equal(prototypes(), untouched)
    })
  })

  describe('JSON edge cases', () => {
    let service: TestService
    let actor: TestActor
    before(async () => {
      service = await start()
      actor = await service.createActor()
    })

    const kept: [sent: string, read: string][] = [
      ['9007199254740993', '9007199254740993'],
      ['-9223372036854775809', '-9223372036854775809'],
      ['123456789012345678901234567890', '123456789012345678901234567890'],
      ['1.7976931348623157e308', '1.7976931348623157e308'],
      ['-1E-400', '-1E-400'],
      ['-0', '-0'],
      ['-0.0', '-0.0'],
      ['1.0', '1.0'],
      ['1e2', '1e2'],
      ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
      ['{"a":1,"a":2}', '{"a":2}'],
      ['{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'],
      ['{"a":1,"\\u0061":2}', '{"a":2}'],
      ['{"10":1,"9":2,"a":3,"1":4}', '{"10":1,"9":2,"a":3,"1":4}'],
      ['{"":1}', '{"":1}'],
      ['["\\ud83d\\ude00"]', '["😀"]'],
      ['["\\u0000"]', '["\\u0000"]'],
      ['{"\\u0000":1,"\\\\ud800":2}', '{"\\u0000":1,"\\\\ud800":2}'],
      ['["\\u2028\\u2029\\u007f\\ufeff\\uffff"]', '["\u2028\u2029\u007f\ufeff\uffff"]'],
      [' \t\r\n[ 1 , 2 ] \n', '[1,2]'],
    ]
    for (const [sent, read] of kept) {
      it(`such as ${JSON.stringify(sent)} are stored as ${JSON.stringify(read)}, alone, in bulk, in a list and below an object (HTTP-05)`, async () => {
        assert.equal((await actor.request('PUT', '/properties/p', sent)).status, 204)
        assert.equal(await (await actor.request('GET', '/properties/p')).text(), read)
        assert.equal(await (await actor.request('GET', '/properties')).text(), `{"p":${read}}`)
        assert.equal((await actor.request('POST', '/properties', `{"p":${sent}}`)).status, 201)
        assert.equal(await (await actor.request('GET', '/properties/p')).text(), read)
        assert.equal((await actor.request('PUT', '/properties/o/inside/it', sent)).status, 204)
        assert.equal(await (await actor.request('GET', '/properties/o')).text(), `{"inside":{"it":${read}}}`)
        await actor.request('POST', '/properties', '{"l":{"_type":"list"}}')
        assert.equal((await actor.request('POST', '/properties/l', sent)).status, 201)
        assert.equal(await (await actor.request('GET', '/properties/l/0')).text(), read)
        assert.equal(await (await actor.request('GET', '/properties/l')).text(), `[${read}]`)
        await actor.request('DELETE', '/properties')
      })
    }

    it('include strings with NUL, which are stored as properties but rejected as creators (HTTP-05)', async () => {
      for (const text of ['"a\\u0000b"', '"\\u0000"']) {
        assert.equal((await actor.request('PUT', '/properties/t', text)).status, 204)
        const answer = await actor.request('GET', '/properties/t', undefined, { accept: 'application/json' })
        assert.equal(await answer.text(), text)
        const created = await service.request('/', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: `{"creator":${text}}`,
        })
        assert.equal(created.status, 400)
      }
      await actor.request('DELETE', '/properties')
    })

    const refused = [
      '{"a":1,}',
      '[1,]',
      '[01]',
      '[+1]',
      '[.5]',
      '[1.]',
      '[0x10]',
      '[NaN]',
      '[Infinity]',
      "{'a':1}",
      '{a:1}',
      '["\\x41"]',
      '["\\u12"]',
      '["\t"]',
      '["\u0000"]',
      '[1] 2',
      '{"a":1}{"a":2}',
      '// x\n1',
      '\ufeff1,',
      'tru',
      '"open',
      '[',
    ]
    it('outside RFC 8259 are rejected on every route that accepts only JSON, and nothing is stored (HTTP-05)', async () => {
      service.reset()
      for (const text of refused) {
        for (const [method, path] of [
          ['PUT', '/properties/p'],
          ['POST', '/properties/p'],
          ['POST', '/properties'],
          ['PUT', '/properties'],
          ['PUT', '/devtest/attribute/box/key'],
        ] as const) {
          const answer = await actor.request(method, path, text, { 'content-type': 'application/json' })
          assert.equal(answer.status, 400, `${method} ${path} ${JSON.stringify(text)}`)
          assert.equal(((await answer.json()) as { error: string }).error, 'invalid_json')
        }
      }
      assert.deepEqual(service.changes, [])
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{}')
    })

    it('such as bytes that are not UTF-8 get 400 with any content type, and nothing is stored (HTTP-05)', async () => {
      service.reset()
      for (const bytes of [
        [0xff],
        [0xc0, 0xaf],
        [0xed, 0xa0, 0x80],
        [0x22, 0xe2, 0x82, 0x22],
        [0xf5, 0x80, 0x80, 0x80],
      ]) {
        for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
          for (const [method, path] of [
            ['PUT', '/properties/p'],
            ['POST', '/properties'],
          ] as const) {
            const answer = await service.request(`/${actor.id}${path}`, {
              method,
              headers: { authorization: actor.authorization, 'content-type': type },
              body: new Uint8Array(bytes),
            })
            assert.equal(answer.status, 400, `${method} ${path} ${type} ${String(bytes)}`)
          }
        }
      }
      assert.deepEqual(service.changes, [])
    })

    it('include a byte order mark, which is ignored (HTTP-05)', async () => {
      const answer = await service.request(`/${actor.id}/properties/p`, {
        method: 'PUT',
        headers: { authorization: actor.authorization, 'content-type': 'application/json' },
        body: new Uint8Array([0xef, 0xbb, 0xbf, 0x31]),
      })
      assert.equal(answer.status, 204)
      assert.equal(await (await actor.request('GET', '/properties/p')).text(), '1')
      await actor.request('DELETE', '/properties')
    })
  })
})

describe('ambiguous paths', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  let other: TestActor
  before(async () => {
    service = await start({ listen: true })
    actor = await service.createActor('one@example.com')
    other = await service.createActor('two@example.com')
    await other.request('PUT', '/properties/secret', 'of another actor')
    await actor.request('PUT', '/properties/a', '{"b":{"c":"inside"}}')
    await actor.request('POST', '/properties', '{"list":{"_type":"list"}}')
    await actor.request('POST', '/properties/list', '"item"')
  })

  const raw = async (method: string, path: string, body = ''): Promise<{ status: number; body: string }> => {
    const wire = await Wire.open(service.url)
    const answer = await wire.send(requestText(method, path, { Authorization: actor.authorization }, body)).answer()
    wire.close()
    return answer
  }

  const sly = [
    '..',
    '.',
    '%2e%2e',
    '%2E%2e',
    '.%2e',
    '%2e',
    '..%2f',
    '%2f',
    'a%2fb',
    'a%2Fb',
    '%2e%2e%2f',
    '%00',
    'a%00',
    '%',
    '%2',
    '%zz',
    'a%',
    '%u0041',
    '%c0%ae%c0%ae',
    '%c0%af',
    '%e0%80%af',
    '%f0%80%80%af',
    '%ff',
    '%ed%a0%80',
    '%f8%88%80%80%80',
  ]
  it('get 400 in every segment and with every method, and change nothing (HTTP-06)', async () => {
    service.reset()
    for (const segment of sly) {
      for (const path of [
        `/${segment}`,
        `/${segment}/properties/a`,
        `/${actor.id}/${segment}`,
        `/${actor.id}/properties/${segment}`,
        `/${actor.id}/properties/${segment}/${other.id}`,
        `/${actor.id}/properties/a/${segment}`,
        `/${actor.id}/properties/a/b/${segment}`,
        `/${actor.id}/properties/list/${segment}`,
        `/${actor.id}/properties/${segment}/items`,
        `/${actor.id}/actions/${segment}`,
        `/${actor.id}/resources/${segment}`,
        `/${actor.id}/meta/${segment}`,
        `/${actor.id}/devtest/${segment}/x`,
        `/assets/${segment}`,
      ]) {
        for (const method of ['GET', 'PUT', 'POST', 'DELETE'])
          assert.equal((await raw(method, path, method === 'GET' ? '' : '1')).status, 400, `${method} ${path}`)
      }
    }
    assert.deepEqual(service.changes, [])
    assert.equal(await (await actor.request('GET', '/properties/a')).text(), '{"b":{"c":"inside"}}')
    assert.equal(await (await other.request('GET', '/properties/secret')).text(), 'of another actor')
  })

  it('cannot traverse from one actor to another (HTTP-06)', async () => {
    for (const path of [
      `/${actor.id}/../${other.id}/properties/secret`,
      `/${actor.id}/properties/../../${other.id}/properties/secret`,
      `/${actor.id}/%2e%2e/${other.id}/properties/secret`,
      `/${actor.id}/..%2f${other.id}/properties/secret`,
      `/${actor.id}/..\\${other.id}\\properties\\secret`,
      `/${actor.id}%2f..%2f${other.id}/properties/secret`,
    ]) {
      const { status, body } = await raw('GET', path)
      assert.ok(status === 400 || status === 404, `${path}: ${status}`)
      assert.doesNotMatch(body, /of another/)
    }
  })

  it('with dots are resolved by the fetch handler before authorization (HTTP-06, R-AUTH-03)', async () => {
    const answer = await service.app.fetch(
      new Request(`${service.url}/${actor.id}/../${other.id}/properties/secret`, {
        headers: { authorization: actor.authorization },
      }),
    )
    assert.equal(answer.status, 403)
  })

  const distinct: [segment: string, name: string][] = [
    ['a%252e', 'a%2e'],
    ['%252e%252e', '%2e%2e'],
    ['%2541', '%41'],
    ['a;x=1', 'a;x=1'],
    ['a%3Bx', 'a;x'],
    ['a\\b', 'a\\b'],
    ['a%5Cb', 'a\\b'],
    ['..\\..', '..\\..'],
    ['...', '...'],
    ['a.', 'a.'],
    ['a..', 'a..'],
    ['.a', '.a'],
    ['a%20', 'a '],
    ['%20a', ' a'],
    ['a+b', 'a+b'],
    ['a%2Bb', 'a+b'],
    ['a%3Fb', 'a?b'],
    ['a%23b', 'a#b'],
    ['A', 'A'],
    ['%C3%A9', '\u00e9'],
    ['e%CC%81', '\u00e9'],
    ['%EF%BC%8F', '／'],
    ['%E2%80%AE', '\u202e'],
    ['%F0%9F%98%80', '😀'],
    ['%7F', '\u007f'],
    ['%01', '\u0001'],
  ]
  it('are decoded exactly once, and each different spelling is a separate name (HTTP-06)', async () => {
    for (const [index, [segment]] of distinct.entries()) {
      assert.equal((await raw('PUT', `/${actor.id}/properties/${segment}`, String(index))).status, 204, segment)
    }
    const listing = (await (await actor.request('GET', '/properties')).json()) as Record<string, unknown>
    // Where two spellings decode to one name, the later write wins.
    const expected = Object.fromEntries(distinct.map(([, name], index) => [name, index]))
    const { a: _a, list: _list, ...stored } = listing
    assert.deepEqual(stored, expected)
    assert.equal(Object.keys(stored).length, 23)
  })

  it('with an empty segment never match the path without it (HTTP-06)', async () => {
    for (const path of [
      '//',
      `//${actor.id}`,
      `//${actor.id}/properties/a`,
      `/${actor.id}//properties`,
      `/${actor.id}//properties/a`,
      `/${actor.id}/properties//a`,
      `/${actor.id}/properties/a//b`,
      `/${actor.id}/properties/a/b/`,
      `/${actor.id}/properties/a/`,
      `/${actor.id}/properties//`,
      '///',
      '//evil.test/',
      '//evil.test/..',
    ]) {
      const { status } = await raw('GET', path)
      assert.ok(status === 404 || status === 400, `${path}: ${status}`)
    }
    service.reset()
    for (const path of [`/${actor.id}//properties/a`, `/${actor.id}/properties//a`, `//${actor.id}`])
      assert.ok((await raw('DELETE', path)).status >= 400)
    assert.deepEqual(service.changes, [])
    assert.equal((await actor.request('GET', '')).status, 200)
  })

  it('cannot spell an actor’s id differently (HTTP-06)', async () => {
    const id = actor.id
    for (const spelling of [
      id.toUpperCase(),
      `${id}.`,
      `${id}%20`,
      `%20${id}`,
      `${id};x=1`,
      `${id}%09`,
      `${id}%5C`,
      id.slice(0, -1),
      `${id}%EF%BB%BF`,
    ]) {
      // An id without letters has no upper-case form.
      if (spelling === id) continue
      assert.equal((await raw('GET', `/${spelling}/properties/a`)).status, 404, spelling)
      assert.equal((await raw('DELETE', `/${spelling}`)).status, 404, spelling)
    }
    assert.equal((await raw('GET', `/%${id.charCodeAt(0).toString(16)}${id.slice(1)}/properties/a/b/c`)).status, 200)
    assert.equal((await actor.request('GET', '')).status, 200)
  })

  it('cannot result from an application’s id that equals a route, in any letter case (HTTP-07)', async () => {
    for (const id of [
      'oauth',
      'mcp',
      'login',
      'callbacks',
      'bot',
      'health',
      'metrics',
      'assets',
      'static',
      'docs',
      'events',
      'app',
      'www',
      'OAuth',
      'MCP',
      'Login',
      '.well-known',
      'openapi.json',
      'favicon.ico',
      'robots.txt',
      '',
      '.',
      '..',
      'a/b',
      'a%2fb',
      'a.b',
      'a b',
      'é',
      'ａ',
      '-a',
      '_a',
      'a\0',
      'a'.repeat(129),
      '__proto__',
    ]) {
      await assert.rejects(service.app.actors.create({ id, creator: 'x' }), { code: 'invalid_value' }, id)
      assert.equal(await service.app.actors.get(id), undefined)
    }
  })

  it('cannot result from a route whose first segment is a valid actor id (HTTP-07)', async () => {
    const { paths } = (await (await service.request('/openapi.json')).json()) as { paths: object }
    const words = new Set(Object.keys(paths).flatMap((path) => path.split('/')[1] ?? []))
    words.delete('')
    words.delete('{actor}')
    assert.ok(words.size > 4)
    for (const id of words)
      await assert.rejects(service.app.actors.create({ id, creator: 'x' }), { code: 'invalid_value' }, id)
  })

  it('differ when ids differ in letter case (HTTP-07)', async () => {
    const upper = await service.app.actors.create({ id: 'Case', creator: 'upper@example.com', passphrase: 'p' })
    const lower = await service.app.actors.create({ id: 'case', creator: 'lower@example.com', passphrase: 'p' })
    assert.deepEqual([upper.actor.id, lower.actor.id], ['Case', 'case'])
    await assert.rejects(service.app.actors.create({ id: 'Case', creator: 'z' }), { code: 'conflict' })
    assert.equal((await service.app.actors.get('Case'))?.creator, 'upper@example.com')
    assert.equal((await service.app.actors.get('case'))?.creator, 'lower@example.com')
    assert.equal(await service.app.actors.get('CASE'), undefined)
  })
})

describe('the content type of a body', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start({ listen: true, declare: (app) => app.action('echo', () => ({ ran: true })) })
    actor = await service.createActor()
  })

  const send = async (method: string, path: string, type: string | null, body: string): Promise<number> => {
    const wire = await Wire.open(service.url)
    const headers = { Authorization: actor.authorization, ...(type === null ? {} : { 'Content-Type': type }) }
    const { status } = await wire.send(requestText(method, path, headers, body)).answer()
    wire.close()
    return status
  }

  const unsupported = [
    'application/json\ta',
    'application/json a',
    'application/json, text/plain',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json; charset',
    'application/json; charset=',
    'application/json; =utf-8',
    'application',
    'application/',
    '/json',
    '*/*',
    'application/*',
    'application/json/x',
    'application/xml',
    'text/html',
    'text/json',
    'image/png',
    'application/octet-stream',
    'application/jsonx',
    'application/x-json',
    'x-application/json',
    '"application/json"',
    'application/json\u00a0',
    ';',
    '',
  ]
  it('gives 415 unless the endpoint supports it and its parameters are valid (HTTP-12, CHOICE-56)', async () => {
    service.reset()
    for (const type of unsupported) {
      for (const [method, path] of [
        ['POST', '/'],
        ['PUT', `/${actor.id}/properties/p`],
        ['POST', `/${actor.id}/properties`],
        ['PUT', `/${actor.id}/properties`],
        ['POST', `/${actor.id}/actions/echo`],
        ['PUT', `/${actor.id}/devtest/attribute/box/key`],
      ] as const)
        assert.equal(await send(method, path, type, '{"p":1}'), 415, `${method} ${path} ${JSON.stringify(type)}`)
    }
    assert.deepEqual(service.changes, [])
  })

  it('is accepted in any letter case, with surrounding spaces and quotes (HTTP-12)', async () => {
    for (const type of [
      'application/json',
      'APPLICATION/JSON',
      '  application/json  ',
      '\tapplication/json',
      'application/json;charset=utf-8',
      'application/json; charset="UTF-8"',
      'application/json ; charset=utf8',
      'application/json;',
      'application/ld+json',
      'application/vnd.test+json; profile="a"',
    ])
      assert.equal(await send('POST', `/${actor.id}/properties`, type, '{"p":1}'), 201, type)
  })

  it('in two header fields gives 400, and neither is used (HTTP-12)', async () => {
    service.reset()
    const types = ['application/json', 'application/x-www-form-urlencoded', 'text/plain']
    for (const first of types) {
      for (const second of types) {
        const wire = await Wire.open(service.url)
        wire.send(
          `PUT /${actor.id}/properties/p HTTP/1.1\r\nHost: x\r\nAuthorization: ${actor.authorization}\r\nContent-Type: ${first}\r\nContent-Type: ${second}\r\nContent-Length: 1\r\n\r\n1`,
        )
        assert.equal((await wire.answer()).status, 400)
        wire.close()
      }
    }
    assert.deepEqual(service.changes, [])
  })

  it('that is not exactly a form’s prevents a method override (HTTP-12, WEB-05)', async () => {
    await actor.request('PUT', '/properties/kept', 'here')
    const path = `/${actor.id}/properties/kept`
    for (const [what, headers] of [
      ['twice, the form first', 'Content-Type: application/x-www-form-urlencoded\r\nContent-Type: text/plain\r\n'],
      ['twice, the form last', 'Content-Type: text/plain\r\nContent-Type: application/x-www-form-urlencoded\r\n'],
      ['with a charset that is not read', 'Content-Type: application/x-www-form-urlencoded; charset=utf-7\r\n'],
      ['with a trailing no-break space', 'Content-Type: application/x-www-form-urlencoded\u00a0\r\n'],
      ['compressed', 'Content-Type: application/x-www-form-urlencoded\r\nContent-Encoding: gzip\r\n'],
    ] as const) {
      const wire = await Wire.open(service.url)
      wire.send(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${actor.authorization}\r\n${headers}Content-Length: 14\r\n\r\n_method=DELETE`,
      )
      const { status } = await wire.answer()
      assert.ok(status === 400 || status === 415, `${what}: ${status}`)
      wire.close()
      assert.equal(await (await actor.request('GET', '/properties/kept')).text(), 'here', what)
    }
  })

  it('of a compressed body gives 415 without decompression, even for ten megabytes of zeros (HTTP-12)', async () => {
    service.reset()
    const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024))
    for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'x-gzip', 'gzip, gzip', 'identity, gzip', 'GZIP']) {
      for (const [method, path] of [
        ['PUT', '/properties/bomb'],
        ['POST', '/properties'],
        ['POST', '/actions/echo'],
      ] as const) {
        const answer = await service.request(`/${actor.id}${path}`, {
          method,
          headers: { authorization: actor.authorization, 'content-encoding': coding },
          body: bomb,
        })
        assert.equal(answer.status, 415, coding)
      }
    }
    assert.deepEqual(service.changes, [])
    const plain = await actor.request('PUT', '/properties/plain', '1', { 'content-encoding': 'identity' })
    assert.equal(plain.status, 204)
  })

  it('may be multipart where forms are accepted, and gives 415 where a value or JSON is expected (HTTP-12)', async () => {
    const body = '--b\r\nContent-Disposition: form-data; name="p"\r\n\r\nfrom a form\r\n--b--\r\n'
    const type = 'multipart/form-data; boundary=b'
    assert.equal(await send('POST', `/${actor.id}/properties`, type, body), 201)
    assert.equal(await (await actor.request('GET', '/properties/p')).text(), 'from a form')
    service.reset()
    assert.equal(await send('PUT', `/${actor.id}/properties/p`, type, body), 415)
    assert.equal(await send('PUT', `/${actor.id}/properties`, type, body), 415)
    assert.equal(await send('POST', `/${actor.id}/actions/echo`, type, body), 415)
    for (const broken of ['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; boundary=c']) {
      const status = await send('POST', `/${actor.id}/properties`, broken, body)
      assert.ok(status === 400 || status === 415, broken)
    }
    assert.deepEqual(service.changes, [])
  })

  it('may be missing: the body is JSON when it parses, and otherwise a string (HTTP-12, CHOICE-56)', async () => {
    assert.equal(await send('PUT', `/${actor.id}/properties/p`, null, '{"a":1}'), 204)
    assert.equal(await (await actor.request('GET', '/properties/p')).text(), '{"a":1}')
    assert.equal(await send('PUT', `/${actor.id}/properties/p`, null, '{"a":'), 204)
    assert.equal(await (await actor.request('GET', '/properties/p')).text(), '{"a":')
    assert.equal(await send('POST', `/${actor.id}/actions/echo`, null, '{}'), 200)
    assert.equal(await send('POST', `/${actor.id}/actions/echo`, null, 'text'), 400)
    assert.equal(await send('POST', `/${actor.id}/properties`, null, 'text'), 400)
  })
})
