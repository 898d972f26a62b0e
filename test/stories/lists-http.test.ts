/** Lists over HTTP, by the rows of the wire specification (WIRE-LIST-01 to WIRE-LIST-04), with the diff that each change records. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { answered, changesNothing, done, everythingStored, refused } from '../support/stored.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

forEachService((start) => {
  let service: TestService
  let actor: TestActor
  let now = Date.UTC(2026, 0, 1)
  before(async () => {
    service = await start({ now: () => now })
  })
  const request = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response> =>
    actor.request(method, `/properties${path}`, body, headers)
  const items = async (name = 'notes'): Promise<unknown> => (await request('GET', `/${name}`)).json()
  /** Creates an actor with the list `notes` of these items. */
  const fresh = async (...given: readonly unknown[]): Promise<void> => {
    actor = await service.createActor()
    const handle = await service.app.actors.get(actor.id)
    await handle?.list('notes').create({ description: 'My notes', explanation: 'One each' })
    for (const item of given) await handle?.list('notes').append(item as object)
    await handle?.set('value', { items: [1], metadata: { a: 1 } })
    service.reset()
  }
  /** Returns the blobs of the changes, and checks that each change is about the list and made by the creator. */
  const blobs = (name = 'notes'): unknown[] =>
    service.changes.map(({ target, subtarget, resource, blob, by, actorId }) => {
      assert.deepEqual([target, subtarget, resource, actorId], ['properties', name, null, actor.id])
      assert.deepEqual(by, { kind: 'creator', via: 'basic' })
      return JSON.parse(blob) as unknown
    })
  /** Checks that the work is refused with this error, stores nothing and records no change. */
  const refuses = async (
    work: () => Promise<Response>,
    status: number,
    code: string,
    message: string | RegExp,
  ): Promise<void> => changesNothing(service, async () => refused(await work(), status, code, message))

  describe('creating a list', () => {
    it('works by POST with _type: 201, an empty array, and a change of its metadata (R-LIST-01, R-LIST-06)', async () => {
      await fresh()
      const body = { todo: { _type: 'list', description: 'To do', explanation: 'Soon', items: [{ index: 0, a: 1 }] } }
      await answered(await request('POST', '', body), 201, { todo: '[Empty list property created]' })
      assert.deepEqual(await items('todo'), [])
      await answered(await request('GET', '/todo?format=short'), 200, {
        _list: true,
        count: 0,
        description: 'To do',
        explanation: 'Soon',
      })
      assert.deepEqual(blobs('todo'), [
        {
          list: 'todo',
          operation: 'metadata',
          length: 0,
          description: 'To do',
          explanation: 'Soon',
          action: 'metadata_update',
        },
      ])
    })

    it('works by PUT of all properties, and by a form with or without metadata (R-LIST-01)', async () => {
      await fresh()
      await done(await request('PUT', '', { a: { _type: 'list' } }))
      const fields = 'property=b&property_type=list&description=From+a+form'
      await answered(await request('POST', '', fields, form), 201, { b: '[Empty list property created]' })
      await answered(await request('POST', '', 'property=c&property_type=list', form), 201, {
        c: '[Empty list property created]',
      })
      for (const [name, description] of [
        ['a', ''],
        ['b', 'From a form'],
        ['c', ''],
      ] as const)
        await answered(await request('GET', `/${name}?format=short`), 200, {
          _list: true,
          count: 0,
          description,
          explanation: '',
        })
    })

    it('keeps the items of an existing list, and replaces only the given metadata (R-LIST-01)', async () => {
      await fresh('a', 'b')
      await answered(await request('POST', '', { notes: { _type: 'list', explanation: 'New' } }), 201, {
        notes: '[Empty list property created]',
      })
      await answered(await request('GET', '/notes?format=short'), 200, {
        _list: true,
        count: 2,
        description: 'My notes',
        explanation: 'New',
      })
      assert.deepEqual(blobs(), [
        { list: 'notes', operation: 'metadata', length: 2, explanation: 'New', action: 'metadata_update' },
      ])
    })

    for (const [what, value] of [
      ['_list', { _list: true, items: [] }],
      ['no items', { items: [] }],
    ] as const) {
      it(`does not happen by ${what}: 201, and nothing is created (R-LIST-05)`, async () => {
        await fresh()
        await changesNothing(service, async () =>
          answered(await request('POST', '', { made: value }), 201, { made: '[No items to update]' }),
        )
        assert.equal((await request('GET', '/made')).status, 404)
      })
    }

    for (const [name, why] of [
      ['a#b', 'a list\'s name must not contain "#"'],
      ['_a', 'a list\'s name must not begin with "_"'],
      ['a/b', 'it contains a slash'],
      ['list:a', 'names that begin with "list:" are reserved'],
      ['', 'it is empty'],
    ] as const) {
      it(`refuses the name ${JSON.stringify(name)} (R-LIST-01)`, async () => {
        await fresh()
        const message = `Cannot use the name ${JSON.stringify(name)}: ${why}`
        await refuses(() => request('POST', '', { [name]: { _type: 'list' } }), 400, 'invalid_name', message)
      })
    }

    it('does not happen for another _type, which is a value (R-LIST-01)', async () => {
      await fresh()
      await answered(await request('POST', '', { a: { _type: 'set' } }), 201, { a: { _type: 'set' } })
      await answered(await request('GET', '/a'), 200, { _type: 'set' })
    })
  })

  describe('GET /properties/<list>', () => {
    for (const query of ['', '?format=full', '?format=other', '?format=', '?metadata=true', '?index=']) {
      it(`returns the array of all items${query === '' ? '' : ` for ${query}`} (R-LIST-01)`, async () => {
        await fresh({ t: 1 }, 'x', null, [2], false, 0, '')
        await answered(await request('GET', `/notes${query}`), 200, [{ t: 1 }, 'x', null, [2], false, 0, ''])
      })
    }

    it('keeps each item as it was written (R-LIST-01)', async () => {
      await fresh()
      await request('POST', '/notes', '{"2":1.0,"1":12345678901234567890}')
      assert.equal(await (await request('GET', '/notes')).text(), '[{"2":1.0,"1":12345678901234567890}]')
    })

    it('returns an empty array for an empty list (R-LIST-01)', async () => {
      await fresh()
      assert.equal(await (await request('GET', '/notes')).text(), '[]')
    })

    for (const [query, item] of [
      ['0', 'a'],
      ['2', 'c'],
      ['-1', 'c'],
      ['-3', 'a'],
      ['0&format=short', 'a'],
      ['007', undefined],
    ] as const) {
      it(`returns ${item === undefined ? '404' : item} for ?index=${query} (R-LIST-04)`, async () => {
        await fresh('a', 'b', 'c')
        if (item === undefined) await refused(await request('GET', `/notes?index=${query}`), 404, 'not_found', /./)
        else await answered(await request('GET', `/notes?index=${query}`), 200, item)
      })
    }

    for (const query of ['3', '-4', 'x', '1.5', '1e0', '0x1', '99999999999999999999', '2147483648', '1000000000']) {
      it(`returns 404 for ?index=${query} (R-LIST-04, LST-09)`, async () => {
        await fresh('a', 'b', 'c')
        await refused(
          await request('GET', `/notes?index=${query}`),
          404,
          'not_found',
          'The property "notes" does not exist',
        )
      })
    }
  })

  describe('a list item by its index', () => {
    it('is returned by GET as JSON, also when it is a string (R-LIST-04)', async () => {
      await fresh('a', { t: 'b' })
      const answer = await request('GET', '/notes/0')
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(await answer.text(), '"a"')
      await answered(await request('GET', '/notes/1'), 200, { t: 'b' })
    })

    for (const path of ['2', '-1', 'x', '1.0', '', '1/', '1/t', '1/t/x', '%31%20', '99999999999999999999']) {
      it(`is 404 for GET ${JSON.stringify(path)} (R-LIST-04, LST-09)`, async () => {
        await fresh('a', { t: 'b' })
        await refused(await request('GET', `/notes/${path}`), 404, 'not_found', /^The property "notes\//)
      })
    }

    for (const [way, address] of [
      ['path', (index: number | string) => `/notes/${index}`],
      ['query', (index: number | string) => `/notes?index=${index}`],
    ] as const) {
      it(`is replaced by PUT with the index in the ${way}: 204, recorded as an update (R-LIST-04, R-LIST-06)`, async () => {
        await fresh('a', 'b')
        await done(await request('PUT', address(1), { t: 'B' }))
        assert.deepEqual(await items(), ['a', { t: 'B' }])
        assert.deepEqual(blobs(), [
          {
            list: 'notes',
            operation: 'update',
            length: 2,
            index: 1,
            item: { t: 'B' },
            old_item: 'b',
            action: 'update',
            value: { t: 'B' },
          },
        ])
      })

      it(`is appended by PUT with the length as index in the ${way}: 204, recorded as an append (R-LIST-04, R-LIST-06)`, async () => {
        await fresh('a')
        await done(await request('PUT', address(1), 'plain text'))
        assert.deepEqual(await items(), ['a', 'plain text'])
        assert.deepEqual(blobs(), [
          {
            list: 'notes',
            operation: 'append',
            length: 2,
            index: 1,
            item: 'plain text',
            action: 'add',
            value: 'plain text',
          },
        ])
      })

      it(`becomes an empty string by PUT of an empty body with the index in the ${way} (R-LIST-04, CHOICE-09)`, async () => {
        await fresh('a')
        await done(await request('PUT', address(0), ''))
        assert.deepEqual(await items(), [''])
      })

      it(`is 404 for PUT with an index beyond the length in the ${way}, and the list is not padded (R-LIST-04, LST-09)`, async () => {
        await fresh('a')
        for (const index of ['2', '2147483648', '1000000000', '99999999999999999999'])
          await refuses(
            () => request('PUT', address(index), '1'),
            404,
            'not_found',
            /^The property "notes\/\d+" does not exist$/,
          )
      })

      it(`is not written by PUT with an invalid index in the ${way}, nor with null (R-LIST-04, LST-09)`, async () => {
        await fresh('a')
        const message = 'Cannot write the item: its index is not a whole number of at least 0'
        for (const index of ['-1', 'x', '0.5', '1e0'])
          await refuses(() => request('PUT', address(index), '1'), 400, 'invalid_index', message)
        await refuses(
          () => request('PUT', address(0), 'null'),
          400,
          'invalid_value',
          'Cannot write the item: it is null',
        )
      })

      it(`is removed by DELETE with the index in the ${way}: 204, recorded as a delete (R-LIST-04, R-LIST-06)`, async () => {
        await fresh('a', 'b', 'c')
        await done(await request('DELETE', address(1)))
        assert.deepEqual(await items(), ['a', 'c'])
        assert.deepEqual(blobs(), [
          { list: 'notes', operation: 'delete', length: 2, index: 1, old_item: 'b', action: 'delete' },
        ])
      })

      it(`is 404 for DELETE with a missing index in the ${way}, and the list does not change (R-LIST-04, LST-09)`, async () => {
        await fresh('a')
        for (const index of ['1', '-1', 'x', '99999999999999999999'])
          await refuses(() => request('DELETE', address(index)), 404, 'not_found', /^The property "notes/)
      })
    }

    it('is replaced only in full: writing inside it is 409 (R-LIST-04)', async () => {
      await fresh({ t: 1 })
      await refuses(
        () => request('PUT', '/notes/0/t', '2'),
        409,
        'conflict',
        'Cannot write inside a list item: replace the item',
      )
      await refuses(
        () => request('POST', '/notes/0', '2'),
        409,
        'conflict',
        'Cannot add inside a list item: append to the list',
      )
      await refuses(() => request('DELETE', '/notes/0/t'), 404, 'not_found', 'The property "notes/0/t" does not exist')
    })

    it('needs a list: PUT and DELETE with an index are 404 elsewhere (R-LIST-04)', async () => {
      await fresh()
      for (const name of ['missing', 'value'])
        for (const method of ['PUT', 'DELETE'])
          await refuses(
            () => request(method, `/${name}?index=0`, method === 'PUT' ? '1' : undefined),
            404,
            'not_found',
            `The property "${name}" does not exist`,
          )
    })

    it('differs from the list, which PUT cannot write as a value: 409 (R-LIST-04)', async () => {
      await fresh('a')
      await refuses(() => request('PUT', '/notes', '[]'), 409, 'conflict', 'Cannot set "notes": a list has this name')
    })
  })

  describe('POST /properties/<list> (CHOICE-08)', () => {
    it('appends: 201, with the URL of the item and the item (R-LIST-04, R-LIST-06)', async () => {
      await fresh('a')
      const answer = await request('POST', '/notes', { t: 'new' })
      assert.equal(answer.headers.get('location'), `http://troupe.test/${actor.id}/properties/notes/1`)
      await answered(answer, 201, { t: 'new' })
      assert.deepEqual(await items(), ['a', { t: 'new' }])
      assert.deepEqual(blobs(), [
        {
          list: 'notes',
          operation: 'append',
          length: 2,
          index: 1,
          item: { t: 'new' },
          action: 'add',
          value: { t: 'new' },
        },
      ])
    })

    it('refuses null (R-LIST-04)', async () => {
      await fresh('a')
      await refuses(
        () => request('POST', '/notes', 'null'),
        400,
        'invalid_value',
        'Cannot append to the list: the item is null',
      )
    })
  })

  describe('/properties/<list>/items', () => {
    it('returns the items with their indexes, and their count (R-LIST-01)', async () => {
      await fresh('a', { t: 'b' })
      await answered(await request('GET', '/notes/items'), 200, {
        items: [
          { index: 0, item: 'a' },
          { index: 1, item: { t: 'b' } },
        ],
        count: 2,
      })
      await fresh()
      await answered(await request('GET', '/notes/items'), 200, { items: [], count: 0 })
    })

    it('is 404 where no list exists, and in a value the key of that name (R-LIST-01)', async () => {
      await fresh()
      await refused(
        await request('GET', '/missing/items'),
        404,
        'not_found',
        'The property "missing/items" does not exist',
      )
      await answered(await request('GET', '/value/items'), 200, [1])
      await done(await request('PUT', '/other', { a: 1 }))
      await refused(await request('GET', '/other/items'), 404, 'not_found', 'The property "other/items" does not exist')
    })

    it('appends by add: 201 with the new index (R-LIST-02, R-LIST-06)', async () => {
      await fresh('a')
      await answered(await request('POST', '/notes/items', { action: 'add', item_value: { t: 1 } }), 201, {
        success: true,
        index: 1,
      })
      assert.deepEqual(blobs(), [
        { list: 'notes', operation: 'append', length: 2, index: 1, item: { t: 1 }, action: 'add', value: { t: 1 } },
      ])
    })

    for (const value of [false, 0, '', [], {}, { a: null }]) {
      it(`adds ${JSON.stringify(value)} (R-LIST-02, CHOICE-53)`, async () => {
        await fresh()
        await answered(await request('POST', '/notes/items', { action: 'add', item_value: value }), 201, {
          success: true,
          index: 0,
        })
        assert.deepEqual(await items(), [value])
      })
    }

    for (const index of [1, '1', '01', 1.0]) {
      it(`updates and deletes at the index ${JSON.stringify(index)} (R-LIST-02, R-LIST-06, CHOICE-55)`, async () => {
        await fresh('a', 'b', 'c')
        await done(await request('POST', '/notes/items', { action: 'update', item_index: index, item_value: 'B' }))
        assert.deepEqual(await items(), ['a', 'B', 'c'])
        await done(await request('POST', '/notes/items', { action: 'delete', item_index: index }))
        assert.deepEqual(await items(), ['a', 'c'])
        assert.deepEqual(blobs(), [
          {
            list: 'notes',
            operation: 'update',
            length: 3,
            index: 1,
            item: 'B',
            old_item: 'b',
            action: 'update',
            value: 'B',
          },
          { list: 'notes', operation: 'delete', length: 2, index: 1, old_item: 'B', action: 'delete' },
        ])
      })
    }

    for (const index of ['true', 'false', '1.5', '-1', '"-1"', '"1.5"', '"x"', '""', '" 1"', '[1]', '{}']) {
      it(`refuses the index ${index} (R-LIST-02, LST-09, CHOICE-55)`, async () => {
        await fresh('a', 'b')
        for (const action of ['update', 'delete'])
          await refuses(
            () => request('POST', '/notes/items', `{"action":"${action}","item_value":1,"item_index":${index}}`),
            400,
            'invalid_index',
            'Invalid index: expected a whole number of at least 0',
          )
      })
    }

    for (const index of ['2', '"2"', '2147483648', '1000000000', '99999999999999999999999']) {
      it(`refuses to update or delete the missing item ${index}: 400 (R-LIST-02, LST-09)`, async () => {
        await fresh('a', 'b')
        for (const action of ['update', 'delete'])
          await refuses(
            () => request('POST', '/notes/items', `{"action":"${action}","item_value":1,"item_index":${index}}`),
            400,
            'invalid_index',
            /^Cannot change the list: it has no item \d+$/,
          )
      })
    }

    const bodyRefusals: readonly (readonly [code: string, message: string | RegExp, ...bodies: string[]])[] = [
      [
        'bad_request',
        'Cannot change the list: item_value is missing',
        '{"action":"add"}',
        '{"action":"add","item_value":null}',
        '{"action":"update","item_index":0}',
        '{"action":"update","item_index":0,"item_value":null}',
      ],
      [
        'bad_request',
        'Cannot change the list: item_index is missing',
        '{"action":"update","item_value":1}',
        '{"action":"update","item_value":1,"item_index":null}',
        '{"action":"delete"}',
        '{"action":"delete","item_index":null}',
      ],
      [
        'bad_request',
        'Cannot change the list: action must be "add", "update" or "delete"',
        '{}',
        '{"action":""}',
        '{"action":null}',
        '{"action":"Add","item_value":1}',
        '{"action":"clear"}',
      ],
      ['bad_request', 'Cannot change the list: the body must be a JSON object', '[]', '5', '"add"', 'null'],
      ['invalid_json', 'Cannot read the body: it is empty', ''],
      ['invalid_json', /./, '{', 'action=add&item_value=1'],
    ]
    for (const [body, code, message] of bodyRefusals.flatMap(([code, message, ...bodies]) =>
      bodies.map((body) => [body, code, message] as const),
    )) {
      it(`refuses ${body === '' ? 'an empty body' : body} (R-LIST-02)`, async () => {
        await fresh('a')
        await refuses(() => request('POST', '/notes/items', body), 400, code, message)
      })
    }

    it('is 404 for POST where no list exists, and creates none (R-LIST-02)', async () => {
      await fresh()
      for (const name of ['missing', 'value'])
        for (const body of [
          { action: 'add', item_value: 1 },
          { action: 'update', item_index: 0, item_value: 1 },
          { action: 'delete', item_index: 0 },
        ])
          await refuses(
            () => request('POST', `/${name}/items`, body),
            404,
            'not_found',
            `The list "${name}" does not exist`,
          )
    })

    it('counts as an invalid index in other methods (R-LIST-02)', async () => {
      await fresh('a')
      await refuses(() => request('PUT', '/notes/items', '1'), 400, 'invalid_index', /^Cannot write the item/)
      await refuses(
        () => request('DELETE', '/notes/items'),
        404,
        'not_found',
        'The property "notes/items" does not exist',
      )
    })
  })

  describe('/properties/<list>/metadata', () => {
    it('returns description, explanation, count and the read-only members (R-LIST-03)', async () => {
      now = Date.UTC(2026, 0, 2)
      await fresh()
      now = Date.UTC(2026, 0, 3)
      await request('POST', '/notes', '"a"')
      await answered(await request('GET', '/notes/metadata'), 200, {
        name: 'notes',
        _list: true,
        count: 1,
        description: 'My notes',
        explanation: 'One each',
        created_at: '2026-01-02T00:00:00.000Z',
        updated_at: '2026-01-03T00:00:00.000Z',
        version: '1.0',
        item_type: 'json',
        chunk_size: 128,
        length: 1,
      })
    })

    for (const [body, description, explanation, change] of [
      ['{"description":"d"}', 'd', 'One each', { description: 'd' }],
      ['{"explanation":"e"}', 'My notes', 'e', { explanation: 'e' }],
      ['{"explanation":"e","description":"d","other":1}', 'd', 'e', { description: 'd', explanation: 'e' }],
      ['{"description":7}', '7', 'One each', { description: '7' }],
      ['{"description":null}', '', 'One each', { description: '' }],
      ['{"description":""}', '', 'One each', { description: '' }],
      ['{"description":"d","length":9,"version":"x","created_at":"x"}', 'd', 'One each', { description: 'd' }],
    ] as const) {
      it(`accepts PUT of ${body}: 204, recorded as metadata, with no read-only change (R-LIST-03, R-LIST-06)`, async () => {
        await fresh('a')
        const before = (await (await request('GET', '/notes/metadata')).json()) as Record<string, unknown>
        now += 1000
        await done(await request('PUT', '/notes/metadata', body))
        const after = (await (await request('GET', '/notes/metadata')).json()) as Record<string, unknown>
        assert.deepEqual(after, { ...before, description, explanation, updated_at: new Date(now).toISOString() })
        assert.deepEqual(blobs(), [
          { list: 'notes', operation: 'metadata', length: 1, ...change, action: 'metadata_update' },
        ])
      })
    }

    for (const [body, code, message] of [
      ['{}', 'bad_request', 'Cannot change the metadata: the body has neither description nor explanation'],
      ['{"other":1}', 'bad_request', 'Cannot change the metadata: the body has neither description nor explanation'],
      ['[]', 'bad_request', 'Cannot change the list: the body must be a JSON object'],
      ['"x"', 'bad_request', 'Cannot change the list: the body must be a JSON object'],
      ['', 'invalid_json', 'Cannot read the body: it is empty'],
      ['{', 'invalid_json', /./],
    ] as const) {
      it(`refuses ${body === '' ? 'an empty body' : body} (R-LIST-03)`, async () => {
        await fresh('a')
        await refuses(() => request('PUT', '/notes/metadata', body), 400, code, message)
      })
    }

    it('is 404 where no list exists, and in a value the key of that name (R-LIST-03)', async () => {
      await fresh()
      await refused(
        await request('GET', '/missing/metadata'),
        404,
        'not_found',
        'The property "missing/metadata" does not exist',
      )
      await answered(await request('GET', '/value/metadata'), 200, { a: 1 })
      await answered(await request('GET', '/value/metadata/a'), 200, 1)
      for (const name of ['missing', 'value'])
        await refuses(
          () => request('PUT', `/${name}/metadata`, { description: 'd' }),
          404,
          'not_found',
          `The list "${name}" does not exist`,
        )
    })
  })

  describe('bulk update (CHOICE-02, CHOICE-53, CHOICE-55)', () => {
    const bulk = (entries: unknown): Promise<Response> => request('POST', '', { notes: { items: entries } })
    const echo = (updated: number, deleted: number): object => ({
      notes: `[Bulk update: ${updated} items updated, ${deleted} items deleted]`,
    })
    const [a, b, c, d] = [{ t: 'a' }, { t: 'b' }, { t: 'c' }, { t: 'd' }]

    for (const [what, entries, after, updated, deleted] of [
      ['deletes item 0 and updates item 2', [{ index: 0 }, { index: 2, t: 'U' }], [b, { t: 'U' }, d], 1, 1],
      [
        'lets the later of two updates at 1 win',
        [
          { index: 1, t: '1' },
          { index: 1, t: '2' },
        ],
        [a, { t: '2' }, c, d],
        2,
        0,
      ],
      [
        'makes one item of two updates at 4, and lets the later win',
        [
          { index: 4, t: '1' },
          { index: 4, t: '2' },
        ],
        [a, b, c, d, { t: '2' }],
        2,
        0,
      ],
      ['updates and deletes item 4', [{ index: 4, t: '1' }, { index: 4 }], [a, b, c, d], 1, 1],
      ['deletes item 1 once, when it is deleted twice', [{ index: 1 }, { index: 1 }], [a, c, d], 0, 1],
      ['lets the delete win over an update of item 1', [{ index: 1, t: 'U' }, { index: 1 }], [a, c, d], 1, 1],
      ['lets the delete win over a later update of item 1', [{ index: 1 }, { index: 1, t: 'U' }], [a, c, d], 1, 1],
      ['deletes items in any order', [{ index: 0 }, { index: 3 }, { index: 1 }], [c], 0, 3],
      ['skips a delete beyond the end and does not count it', [{ index: 9 }, { index: 0 }], [b, c, d], 0, 1],
      ['changes nothing by a sole delete beyond the end', [{ index: 4 }], [a, b, c, d], 0, 0],
      [
        'appends more than one item',
        [
          { index: 4, t: 'e' },
          { index: 5, t: 'f' },
        ],
        [a, b, c, d, { t: 'e' }, { t: 'f' }],
        2,
        0,
      ],
      ['accepts an index as a string of digits', [{ index: '1', t: 'U' }], [a, { t: 'U' }, c, d], 1, 0],
      ['stores fields of any type, also null', [{ index: 0, x: null, y: [1] }], [{ x: null, y: [1] }, b, c, d], 1, 0],
      [
        'updates, deletes and appends together',
        [{ index: 3 }, { index: 0, t: 'A' }, { index: 1 }, { index: 2, t: 'C' }, { index: 4, t: 'e' }],
        [{ t: 'A' }, { t: 'C' }, { t: 'e' }],
        3,
        2,
      ],
    ] as const) {
      it(`${what} (R-LIST-05, LST-08)`, async () => {
        await fresh(a, b, c, d)
        await answered(await bulk(entries), 201, echo(updated, deleted))
        assert.deepEqual(await items(), after)
        await fresh(a, b, c, d)
        await done(await request('PUT', '', { notes: { items: entries } }))
        assert.deepEqual(await items(), after)
      })
    }

    it('fills an empty list in the given order (R-LIST-05)', async () => {
      await fresh()
      await answered(
        await bulk([
          { index: 0, t: 'a' },
          { index: 1, t: 'b' },
          { index: 2, t: 'c' },
        ]),
        201,
        echo(3, 0),
      )
      assert.deepEqual(await items(), [a, b, c])
    })

    it('records each change by the list after the previous ones: updates as given, deletes from the end (R-LIST-06, CHOICE-25)', async () => {
      await fresh(a, b, c)
      await bulk([{ index: 0 }, { index: 1, t: 'U' }, { index: 3, t: 'new' }, { index: 2 }])
      assert.deepEqual(blobs(), [
        {
          list: 'notes',
          operation: 'update',
          length: 3,
          index: 1,
          item: { t: 'U' },
          old_item: b,
          action: 'update',
          value: { t: 'U' },
        },
        {
          list: 'notes',
          operation: 'append',
          length: 4,
          index: 3,
          item: { t: 'new' },
          action: 'add',
          value: { t: 'new' },
        },
        { list: 'notes', operation: 'delete', length: 3, index: 2, old_item: c, action: 'delete' },
        { list: 'notes', operation: 'delete', length: 2, index: 0, old_item: a, action: 'delete' },
      ])
      assert.deepEqual(await items(), [{ t: 'U' }, { t: 'new' }])
    })

    it('records the other properties as one change, then each list (R-LIST-06)', async () => {
      await fresh(a)
      await request('POST', '', { x: 1, made: { _type: 'list' }, notes: { items: [{ index: 0 }] }, y: 'two' })
      assert.deepEqual(
        service.changes.map(({ subtarget, blob }) => [
          subtarget,
          (JSON.parse(blob) as { operation?: string }).operation ?? blob,
        ]),
        [
          [null, '{"x":1,"y":"two"}'],
          ['made', 'metadata'],
          ['notes', 'delete'],
        ],
      )
    })

    it('changes nothing without items, for a list, a value and a missing name (R-LIST-05)', async () => {
      await fresh(a)
      await changesNothing(service, async () => {
        const body = { notes: { items: [] }, value: { items: [] }, missing: { items: [] } }
        await answered(await request('POST', '', body), 201, {
          notes: '[No items to update]',
          value: '[No items to update]',
          missing: '[No items to update]',
        })
      })
    })

    for (const [entries, code, message] of [
      ['{}', 'invalid_value', 'Cannot update a list: "items" is not an array'],
      ['5', 'invalid_value', 'Cannot update a list: "items" is not an array'],
      ['null', 'invalid_value', 'Cannot update a list: "items" is not an array'],
      ['[{"index":0,"t":"x"},5]', 'invalid_value', 'Cannot update a list: entry 1 of "items" is not an object'],
      ['[{"t":"x"}]', 'invalid_index', 'Cannot update a list: entry 0 of "items" has no index'],
      ['[{"index":0,"t":"x"},{"index":-1}]', 'invalid_index', 'Invalid index: expected a whole number of at least 0'],
      ['[{"index":1.5,"t":"x"}]', 'invalid_index', 'Invalid index: expected a whole number of at least 0'],
      ['[{"index":null}]', 'invalid_index', 'Invalid index: expected a whole number of at least 0'],
      ['[{"index":true,"t":"x"}]', 'invalid_index', 'Invalid index: expected a whole number of at least 0'],
      [
        '[{"index":0,"t":"x"},{"index":3,"t":"y"}]',
        'invalid_index',
        'Cannot update item 3: the list has only 2 items at that point',
      ],
      [
        '[{"index":2,"t":"x"},{"index":4,"t":"y"}]',
        'invalid_index',
        'Cannot update item 4: the list has only 3 items at that point',
      ],
      [
        '[{"index":0},{"index":1000000000,"t":"x"}]',
        'invalid_index',
        'Cannot update item 1000000000: the list has only 2 items at that point',
      ],
    ] as const) {
      it(`refuses ${entries}, and the list does not change (R-LIST-05, LST-08)`, async () => {
        await fresh(a, b)
        await refuses(() => request('POST', '', `{"notes":{"items":${entries}}}`), 400, code, message)
      })
    }

    it('refuses items for a name that is not a list (R-LIST-05)', async () => {
      await fresh()
      for (const name of ['missing', 'value'])
        await refuses(
          () => request('POST', '', { [name]: { items: [{ index: 0, a: 1 }] } }),
          400,
          'invalid_value',
          `Cannot update the items of "${name}": it is not a list`,
        )
    })
  })

  describe('DELETE /properties/<list>', () => {
    it('removes items and metadata: 204, then 404, recorded as delete_all (R-LIST-01, R-LIST-06)', async () => {
      await fresh('a', 'b')
      await done(await request('DELETE', '/notes'))
      assert.deepEqual(blobs(), [{ list: 'notes', operation: 'delete_all', length: 0, action: 'delete_all' }])
      for (const path of ['/notes', '/notes/items', '/notes/metadata', '/notes/0'])
        assert.equal((await request('GET', path)).status, 404)
      const stored = await everythingStored(service)
      for (const table of ['list_item', 'list_node'] as const)
        assert.deepEqual(
          stored[table].filter((row) => row['actor_id'] === actor.id),
          [],
        )
      await request('POST', '', { notes: { _type: 'list' } })
      assert.deepEqual(await items(), [])
    })
  })

  describe('a damaged list', () => {
    const damage = async (): Promise<void> => {
      await fresh('a', 'b')
      const { store } = await service.app.running()
      await store.write((tx) => tx.run('DELETE FROM list_item WHERE actor_id = $1 AND item = 1', actor.id))
    }
    for (const [method, path, body] of [
      ['GET', '/notes', undefined],
      ['GET', '/notes/items', undefined],
      ['GET', '/notes/0', undefined],
      ['DELETE', '/notes/0', undefined],
      ['POST', '/notes/items', { action: 'update', item_index: 0, item_value: 1 }],
      ['POST', '/notes/items', { action: 'delete', item_index: 0 }],
      ['POST', '', { notes: { items: [{ index: 0 }] } }],
    ] as const) {
      it(`is reported by ${method} ${path} ${body === undefined ? '' : JSON.stringify(body)} with 409, and not repaired (LST-10, R-LIST-01)`, async () => {
        await damage()
        await changesNothing(service, async () => {
          const answer = await request(method, path, body)
          assert.equal(answer.status, 409)
          const refusal = (await answer.json()) as Record<string, unknown>
          assert.deepEqual(Object.keys(refusal).toSorted(), ['detail', 'error', 'list', 'message', 'remedy'])
          assert.deepEqual(
            [refusal['error'], refusal['list'], refusal['remedy']],
            ['list_corrupted', 'notes', 'compact'],
          )
        })
      })
    }

    it('can be deleted (LST-10, R-LIST-01)', async () => {
      await damage()
      await done(await request('DELETE', '/notes'))
      assert.equal((await request('GET', '/notes')).status, 404)
    })
  })
})
