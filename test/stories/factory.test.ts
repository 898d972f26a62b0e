/** `/` and `/<actor>`: creating actors and reading them. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { ConfigError } from '../../src/config/config.ts'
import { ServiceError } from '../../src/errors.ts'
import { basic, challengeAt, forEachService, type TestService } from '../support/service.ts'
import { answered, changesNothing, done, everythingStored, refused } from '../support/stored.ts'

interface Created {
  readonly id: string
  readonly creator: string
  readonly passphrase: string
  readonly trustee_root?: string
}

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

function post(
  service: TestService,
  body: string | undefined,
  headers: Record<string, string> = json,
): Promise<Response> {
  return service.request('/', { method: 'POST', headers, ...(body === undefined ? {} : { body }) })
}

async function created(answer: Response): Promise<Created> {
  const text = await answer.text()
  assert.equal(answer.status, 201, text)
  assert.equal(answer.headers.get('content-type'), 'application/json')
  const actor = JSON.parse(text) as Created
  assert.equal(answer.headers.get('location'), `http://troupe.test/${actor.id}`)
  return actor
}

async function actorsIn(service: TestService): Promise<number> {
  return (await everythingStored(service)).actor.length
}

forEachService((start) => {
  describe('the front page', () => {
    it('is a form that posts to the same URL, at / and at /login, for every Accept header (R-ACT-01)', async () => {
      const service = await start()
      for (const path of ['/', '/login', '/?format=json']) {
        for (const accept of ['text/html', '*/*', 'application/json']) {
          const answer = await service.request(path, { headers: { accept } })
          assert.equal(answer.status, 200)
          assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
          assert.match(await answer.text(), /<form method="post" action="\/">[^]*name="creator"/)
        }
      }
    })
  })

  describe('creating an actor by the API', () => {
    let service: TestService
    before(async () => {
      service = await start()
    })

    it('responds with 201, the URL, an id of 32 hex characters and a passphrase of 40 (R-ACT-02, CHOICE-12)', async () => {
      const actor = await created(await post(service, '{"creator":"somebody"}'))
      assert.deepEqual(Object.keys(actor), ['id', 'creator', 'passphrase'])
      assert.match(actor.id, /^[0-9a-f]{32}$/)
      assert.equal(actor.creator, 'somebody')
      assert.match(actor.passphrase, /^[0-9a-f]{40}$/)
    })

    it('accepts only creator, passphrase and trustee_root (R-ACT-02)', async () => {
      const body = {
        creator: 'a',
        passphrase: 'my: pässphrase',
        trustee_root: 'https://peer.example/1',
        id: 'mine',
        x: 1,
      }
      const actor = await created(await post(service, JSON.stringify(body)))
      assert.match(actor.id, /^[0-9a-f]{32}$/)
      assert.deepEqual(actor, {
        id: actor.id,
        creator: 'a',
        passphrase: 'my: pässphrase',
        trustee_root: 'https://peer.example/1',
      })
    })

    for (const [what, body, creator] of [
      ['no creator', '{}', 'creator'],
      ['an empty creator', '{"creator":""}', 'creator'],
      ['a creator of spaces', '{"creator":"  "}', 'creator'],
      ['a creator with spaces around it', '{"creator":" me "}', 'me'],
      ['an email address in any letter case', '{"creator":"Me@Example.COM"}', 'me@example.com'],
      ['a name in any letter case', '{"creator":"Me"}', 'Me'],
    ] as const) {
      it(`stores the creator ${JSON.stringify(creator)} for ${what} (R-ACT-02)`, async () => {
        assert.equal((await created(await post(service, body))).creator, creator)
      })
    }

    it('generates a passphrase in place of an empty one, and stores no empty trustee_root (R-ACT-02)', async () => {
      const actor = await created(await post(service, '{"passphrase":"","trustee_root":""}'))
      assert.match(actor.passphrase, /^[0-9a-f]{40}$/)
      assert.deepEqual(Object.keys(actor), ['id', 'creator', 'passphrase'])
    })

    for (const [what, headers] of [
      ['with the content type of JSON', json],
      ['without a content type', {}],
      ['with the content type of a form', { ...form, accept: 'application/json' }],
    ] as const) {
      it(`treats an empty body ${what} as an empty object (R-ACT-02)`, async () => {
        assert.equal((await created(await post(service, undefined, headers))).creator, 'creator')
      })
    }

    it('parses JSON without a content type as JSON (R-ACT-02, CHOICE-56)', async () => {
      const bytes = new TextEncoder().encode('{"creator":"untyped"}')
      const answer = await service.request('/', { method: 'POST', body: bytes })
      assert.equal((await created(answer)).creator, 'untyped')
    })

    it('accepts a form from a program that accepts JSON (R-ACT-02)', async () => {
      const body = 'creator=Form%40Example.com&passphrase=secret%3A1&trustee_root=https%3A%2F%2Fp.example%2F'
      const actor = await created(await post(service, body, { ...form, accept: 'application/json' }))
      assert.deepEqual(actor, {
        id: actor.id,
        creator: 'form@example.com',
        passphrase: 'secret:1',
        trustee_root: 'https://p.example/',
      })
    })

    it('creates a second actor for the same creator when creators need not be unique (R-ACT-02)', async () => {
      const first = await created(await post(service, '{"creator":"twice"}'))
      const second = await created(await post(service, '{"creator":"twice"}'))
      assert.notEqual(first.id, second.id)
    })

    it('gives distinct ids to actors that are created concurrently (DEL-08)', async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => post(service, '{"creator":"burst"}')))
      const ids = await Promise.all(answers.map(async (answer) => (await created(answer)).id))
      assert.equal(new Set(ids).size, 50)
    })

    for (const [body, code, message] of [
      ['5', 'bad_request', 'Cannot create an actor: the body must be a JSON object'],
      ['"x"', 'bad_request', 'Cannot create an actor: the body must be a JSON object'],
      ['null', 'bad_request', 'Cannot create an actor: the body must be a JSON object'],
      ['[]', 'bad_request', 'Cannot create an actor: the body must be a JSON object'],
      ['{"creator":null}', 'bad_request', 'Cannot create an actor: creator must be a string'],
      ['{"creator":7}', 'bad_request', 'Cannot create an actor: creator must be a string'],
      ['{"creator":["a"]}', 'bad_request', 'Cannot create an actor: creator must be a string'],
      ['{"passphrase":7}', 'bad_request', 'Cannot create an actor: passphrase must be a string'],
      ['{"passphrase":null}', 'bad_request', 'Cannot create an actor: passphrase must be a string'],
      ['{"trustee_root":{}}', 'bad_request', 'Cannot create an actor: trustee_root must be a string'],
      ['{"trustee_root":true}', 'bad_request', 'Cannot create an actor: trustee_root must be a string'],
      ['{"creator":"a\\nb"}', 'invalid_value', /^Cannot use this creator: it must be at most 512 characters/],
      [`{"creator":"${'a'.repeat(513)}"}`, 'invalid_value', /^Cannot use this creator: it must be at most 512/],
      ['{"creator":', 'invalid_json', /./],
      ['hello', 'invalid_json', /./],
    ] as const) {
      it(`refuses ${body.slice(0, 40)} with 400 and creates nothing (R-ACT-02, CHOICE-57)`, async () => {
        await changesNothing(service, async () => refused(await post(service, body), 400, code, message))
      })
    }

    it('refuses text that is neither JSON nor a form, and an unsupported content type (R-ACT-02, CHOICE-56)', async () => {
      await changesNothing(service, async () => {
        await refused(
          await post(service, 'creator: me', { 'content-type': 'text/plain' }),
          400,
          'invalid_json',
          'Cannot create an actor: the body is neither JSON nor a form',
        )
        await refused(
          await post(service, '<a/>', { 'content-type': 'application/xml' }),
          415,
          'unsupported_media_type',
          'Cannot read a body of type "application/xml"',
        )
      })
    })
  })

  describe('creating an actor by the form of the front page', () => {
    let service: TestService
    before(async () => {
      service = await start()
    })

    for (const field of ['creator', 'email']) {
      it(`shows a page with the URL, the creator and the passphrase, from the field ${field} (R-ACT-02)`, async () => {
        const answer = await post(service, `${field}=Page.${field}%40example.com`, { ...form, accept: 'text/html' })
        assert.equal(answer.status, 200)
        assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
        assert.equal(answer.headers.get('location'), null)
        const page = await answer.text()
        const rows = (await everythingStored(service)).actor.filter(
          (row) => row['creator'] === `page.${field}@example.com`,
        )
        assert.equal(rows.length, 1)
        assert.ok(page.includes(`http://troupe.test/${String(rows[0]?.['id'])}`))
        const passphrase = /<code>([0-9a-f]{40})<\/code>/.exec(page)?.[1] ?? ''
        const shown = await service.request(`/${String(rows[0]?.['id'])}`, {
          headers: { authorization: basic(`page.${field}@example.com`, passphrase) },
        })
        assert.equal(shown.status, 200)
      })
    }

    it('accepts the multipart form that a browser may send instead (R-ACT-02)', async () => {
      const body = new FormData()
      body.append('creator', 'multi@example.com')
      const answer = await service.request('/', { method: 'POST', body, headers: { accept: 'text/html' } })
      assert.equal(answer.status, 200)
      assert.ok((await everythingStored(service)).actor.some((row) => row['creator'] === 'multi@example.com'))
    })

    for (const body of ['', 'creator=', 'creator=+', 'other=1', 'passphrase=x']) {
      it(`shows the page again with the missing field for ${JSON.stringify(body)}, and creates nothing (R-ACT-02)`, async () => {
        const answer = await changesNothing(service, () => post(service, body, { ...form, accept: 'text/html' }))
        assert.equal(answer.status, 400)
        assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
        assert.match(await answer.text(), /role="alert"[^>]*>Enter your email address\.</)
      })
    }

    it('shows the page again with the reason when the creator is not valid (R-ACT-02)', async () => {
      const answer = await changesNothing(service, () =>
        post(service, 'creator=a%00b', { ...form, accept: 'text/html' }),
      )
      assert.equal(answer.status, 400)
      assert.match(await answer.text(), /role="alert"[^>]*>Cannot use this creator/)
    })
  })

  describe('creating an actor when creators are unique', () => {
    it('refuses a second actor for the same creator, and creates nothing (R-ACT-03)', async () => {
      const service = await start({ uniqueCreator: true })
      await created(await post(service, '{"creator":"One@Example.com","passphrase":"right"}'))
      for (const body of [
        '{"creator":"one@example.com"}',
        '{"creator":" ONE@example.COM ","passphrase":"wrong"}',
        '{"creator":"one@example.com","passphrase":""}',
      ]) {
        await changesNothing(service, async () =>
          refused(
            await post(service, body),
            403,
            'creator_exists',
            'Cannot create an actor: this creator has one already',
          ),
        )
      }
    })

    it('returns the existing actor for its passphrase, without a second actor or event (R-ACT-03, R-EVT-01)', async () => {
      const events: string[] = []
      const service = await start({
        uniqueCreator: true,
        declare: (app) => app.on('actor_created', ({ actor }) => events.push(actor.id)),
      })
      const body = '{"creator":"one@example.com","passphrase":"right","trustee_root":"https://t.example/"}'
      const first = await created(await post(service, body))
      const again = await created(await post(service, '{"creator":"one@example.com","passphrase":"right"}'))
      assert.deepEqual(again, first)
      assert.deepEqual(events, [first.id])
      assert.equal(await actorsIn(service), 1)
    })

    it('refuses with 400 a second actor without a creator (R-ACT-03)', async () => {
      const service = await start({ uniqueCreator: true })
      await created(await post(service, '{}'))
      await changesNothing(service, async () =>
        refused(
          await post(service, '{}'),
          400,
          'bad_request',
          'Cannot create an actor: name a creator, because creators are unique here',
        ),
      )
    })

    it('shows the refusal on the page when the form names a creator that has an actor (R-ACT-03)', async () => {
      const service = await start({ uniqueCreator: true })
      await created(await post(service, '{"creator":"one@example.com"}'))
      const answer = await changesNothing(service, () =>
        post(service, 'creator=one%40example.com', { ...form, accept: 'text/html' }),
      )
      assert.equal(answer.status, 403)
      assert.match(await answer.text(), /role="alert"[^>]*>Cannot create an actor: this creator has one already</)
    })

    it('gives the creator another actor after the first was deleted (R-ACT-03)', async () => {
      const service = await start({ uniqueCreator: true })
      const first = await service.createActor('one@example.com')
      await done(await first.request('DELETE', ''))
      await service.createActor('one@example.com')
    })

    it('refuses creators that had an actor before the option was turned on (R-ACT-03)', async () => {
      const open = await start()
      await open.createActor('old@example.com')
      const service = await start({ uniqueCreator: true, database: open.databaseUrl })
      await changesNothing(service, async () =>
        refused(await post(service, '{"creator":"old@example.com"}'), 403, 'creator_exists', /has one already$/),
      )
    })

    it('creates exactly one actor for 100 concurrent creations of one creator (R-ACT-03, DEL-07)', async () => {
      const service = await start({ uniqueCreator: true })
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => post(service, '{"creator":"rush@example.com"}')),
      )
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
      assert.deepEqual(statuses, [201, ...Array<number>(99).fill(403)])
      assert.equal(await actorsIn(service), 1)
    })
  })

  describe('replacing the actor of a creator', () => {
    it('creates the new actor and deletes every old one of that creator, but of no other creator (R-ACT-03)', async () => {
      const service = await start()
      const [old, older, other] = [
        await service.createActor('me@example.com'),
        await service.createActor('me@example.com'),
        await service.createActor('other@example.com'),
      ]
      await done(await old.request('PUT', '/properties/a', '1'))
      const { actor } = await service.app.actors.create({ creator: 'Me@example.com', deleteExisting: true })
      assert.equal((await old.request('GET', '')).status, 404)
      assert.equal((await older.request('GET', '')).status, 404)
      assert.equal((await other.request('GET', '')).status, 200)
      assert.equal(await actor.get('a'), undefined)
      assert.equal(await actorsIn(service), 2)
    })

    for (const uniqueCreator of [true, false]) {
      it(`leaves exactly one for 100 concurrent replacements, unique creators ${uniqueCreator ? 'on' : 'off'} (R-ACT-03, DEL-07)`, async () => {
        const service = await start({ uniqueCreator })
        // Each creator gets ten replacements, so that many of them find no older actor to lock.
        const made = await Promise.all(
          Array.from({ length: 100 }, (_, at) =>
            service.app.actors.create({ creator: `rush${Math.floor(at / 10)}@example.com`, deleteExisting: true }),
          ),
        )
        assert.equal(new Set(made.map(({ actor }) => actor.id)).size, 100)
        const creators = (await everythingStored(service)).actor.map(({ creator }) => String(creator)).toSorted()
        assert.deepEqual(
          creators,
          Array.from({ length: 10 }, (_, at) => `rush${at}@example.com`),
        )
      })
    }

    it('works again after the replacing actor changed its creator (R-ACT-03)', async () => {
      const service = await start({ forceEmailAsCreator: true })
      const { actor } = await service.app.actors.create({ creator: 'me@example.com', deleteExisting: true })
      await actor.set('email', 'moved@example.com')
      const next = await service.app.actors.create({ creator: 'me@example.com', deleteExisting: true })
      assert.notEqual(next.actor.id, actor.id)
      assert.equal((await service.app.actors.get(actor.id))?.creator, 'moved@example.com')
    })
  })

  describe('creating an actor from code', () => {
    let service: TestService
    before(async () => {
      service = await start({ forceEmailAsCreator: false })
    })

    it('accepts an id, a passphrase and a trustee_root (R-ACT-04)', async () => {
      const { actor, passphrase, isNew } = await service.app.actors.create({
        id: 'Chosen_id-1',
        creator: 'code@example.com',
        passphrase: 'a passphrase',
        trusteeRoot: 'https://trustee.example/1',
      })
      assert.deepEqual([actor.id, passphrase, isNew], ['Chosen_id-1', 'a passphrase', true])
      assert.equal(actor.url, 'http://troupe.test/Chosen_id-1')
      await answered(
        await service.request('/Chosen_id-1', {
          headers: { authorization: basic('code@example.com', 'a passphrase') },
        }),
        200,
        {
          id: 'Chosen_id-1',
          creator: 'code@example.com',
          passphrase: 'a passphrase',
          trustee_root: 'https://trustee.example/1',
        },
      )
    })

    it('distinguishes ids by letter case (R-ACT-04)', async () => {
      await service.app.actors.create({ id: 'case', creator: 'lower' })
      await service.app.actors.create({ id: 'CASE', creator: 'upper' })
      assert.equal((await service.app.actors.get('case'))?.creator, 'lower')
      assert.equal((await service.app.actors.get('CASE'))?.creator, 'upper')
    })

    it('refuses an id that is in use, and does not change its actor (R-ACT-04, DEL-08)', async () => {
      const { actor } = await service.app.actors.create({ id: 'taken', creator: 'first' })
      await actor.set('a', 1)
      await changesNothing(service, () =>
        assert.rejects(service.app.actors.create({ id: 'taken', creator: 'second' }), (error) => {
          assert.ok(error instanceof ServiceError)
          assert.equal(error.code, 'conflict')
          assert.equal(error.message, 'Cannot create actor "taken": the id is taken')
          return true
        }),
      )
    })

    for (const id of [
      '',
      'oauth',
      'MCP',
      'login',
      'callbacks',
      'bot',
      'health',
      'metrics',
      'assets',
      '.well-known',
      '..',
      'a/b',
      'a.b',
      'å',
      '-a',
      'a b',
      'a%2Fb',
      'x'.repeat(129),
    ]) {
      it(`refuses the id ${JSON.stringify(id.slice(0, 20))} (R-ACT-04)`, async () => {
        await changesNothing(service, () =>
          assert.rejects(service.app.actors.create({ id }), {
            code: 'invalid_value',
            message: /^Cannot use the actor id/,
          }),
        )
      })
    }
  })

  describe('an actor whose creator must be its email address', () => {
    it('changes its creator with `email`, however the property is written (R-ACT-04)', async () => {
      const service = await start({ forceEmailAsCreator: true })
      const actor = await service.createActor('first@example.com')
      const as = (creator: string) => ({ authorization: basic(creator, actor.passphrase) })
      await done(await actor.request('PUT', '/properties/email', 'Second@Example.com'))
      assert.equal((await actor.request('GET', '')).status, 403)
      const root = await actor.request('GET', '', undefined, as('second@example.com'))
      assert.equal(((await root.json()) as Created).creator, 'second@example.com')
      const posted = await actor.request(
        'POST',
        '/properties',
        { email: 'third@example.com' },
        as('second@example.com'),
      )
      assert.equal(posted.status, 201)
      await done(await actor.request('PUT', '/properties', { email: 'fourth@example.com' }, as('third@example.com')))
      await done(await actor.request('DELETE', '/properties/email', undefined, as('fourth@example.com')))
      assert.equal((await actor.request('GET', '', undefined, as('fourth@example.com'))).status, 200)
    })

    for (const body of ['ada', '12', '{"a":"b@c.example"}', '[]']) {
      it(`refuses ${body} as an email address, and changes nothing (R-ACT-04)`, async () => {
        const service = await start({ forceEmailAsCreator: true })
        const actor = await service.createActor('first@example.com')
        await changesNothing(service, async () => {
          const message = 'Cannot set "email": the creator must be an e-mail address'
          await refused(await actor.request('PUT', '/properties/email', body), 400, 'invalid_value', message)
        })
      })
    }

    it('refuses the address of another actor when creators are unique (R-ACT-03, R-ACT-04)', async () => {
      const open = await start()
      await open.createActor('older@example.com')
      const service = await start({ forceEmailAsCreator: true, uniqueCreator: true, database: open.databaseUrl })
      await service.createActor('other@example.com')
      const actor = await service.createActor('first@example.com')
      for (const taken of ['other@example.com', 'older@example.com']) {
        await changesNothing(service, async () =>
          refused(
            await actor.request('PUT', '/properties/email', taken),
            409,
            'conflict',
            'Cannot set "email": another actor has this creator',
          ),
        )
      }
      await done(await actor.request('PUT', '/properties/email', 'first@example.com'))
    })

    it('keeps its creator when the option is off (R-ACT-04)', async () => {
      const service = await start()
      const actor = await service.createActor('first@example.com')
      await done(await actor.request('PUT', '/properties/email', 'second@example.com'))
      assert.equal((await actor.request('GET', '')).status, 200)
    })
  })

  describe('GET /<actor>', () => {
    for (const accept of [undefined, '*/*', 'application/json', 'application/*;q=0.9']) {
      it(`returns id, creator and passphrase to the creator for Accept ${accept ?? '(none)'} (R-ACT-05)`, async () => {
        const service = await start()
        const actor = await service.createActor('me@example.com')
        const answer = await actor.request('GET', '', undefined, accept === undefined ? {} : { accept })
        assert.equal(answer.headers.get('content-type'), 'application/json')
        await answered(answer, 200, { id: actor.id, creator: 'me@example.com', passphrase: actor.passphrase })
      })
    }

    it('returns the trustee_root of an actor that has one (R-ACT-05)', async () => {
      const service = await start()
      const given = { creator: 'me@example.com', passphrase: 'secret', trustee_root: 'https://peer.example/1' }
      const created = await post(service, JSON.stringify(given))
      assert.equal(created.status, 201)
      const { id } = (await created.json()) as { id: string }
      const headers = { authorization: basic(given.creator, given.passphrase) }
      await answered(await service.request(`/${id}`, { headers }), 200, { id, ...given })
    })

    it('requests credentials from a program without them, and refuses invalid ones (R-ACT-05, R-AUTH-03)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const open = await service.request(`/${actor.id}`)
      assert.equal(open.headers.get('www-authenticate'), challengeAt(actor.id))
      await refused(open, 401, 'unauthorized', 'Authentication required')
      for (const authorization of [basic(actor.creator, 'wrong'), basic('wrong', actor.passphrase)]) {
        await refused(
          await service.request(`/${actor.id}`, { headers: { authorization } }),
          403,
          'forbidden',
          'Cannot authenticate: the credentials are not valid for this actor',
        )
      }
    })

    const page = { accept: 'text/html,application/xhtml+xml;q=0.9' }
    for (const webUi of [true, false]) {
      it(`redirects a browser without a session to the sign-in page, pages ${webUi ? 'on' : 'off'} (R-ACT-06, WEB-15, CHOICE-01, CHOICE-49)`, async () => {
        const service = await start({ webUi })
        const actor = await service.createActor()
        for (const headers of [
          page,
          { ...page, authorization: actor.authorization },
          { ...page, authorization: basic(actor.creator, 'wrong') },
          { ...page, authorization: 'Basic !' },
          { ...page, authorization: 'Bearer unknown' },
          { ...page, cookie: 'oauth_token=unknown' },
        ]) {
          const answer = await service.request(`/${actor.id}`, { headers })
          assert.equal(answer.status, 302, JSON.stringify(headers))
          const login = `http://troupe.test/login?actor=${actor.id}&redirect=%2F${actor.id}`
          assert.equal(answer.headers.get('location'), login)
          assert.equal(answer.headers.get('vary'), 'Accept')
          assert.equal(await answer.text(), '')
        }
      })

      it(`redirects a browser with a session to ${webUi ? '/<id>/www' : '/<id>/app'} (R-ACT-06)`, async () => {
        const service = await start({
          webUi,
          bearerKinds: [(token, _actor, via) => Promise.resolve(token === 'session' ? { kind: 'creator', via } : null)],
        })
        const actor = await service.createActor()
        for (const session of [{ cookie: 'a=b; oauth_token=session' }, { authorization: 'Bearer session' }]) {
          const answer = await service.request(`/${actor.id}`, { headers: { ...page, ...session } })
          assert.equal(answer.status, 302)
          assert.equal(answer.headers.get('location'), `http://troupe.test/${actor.id}/${webUi ? 'www' : 'app'}`)
          assert.equal(answer.headers.get('vary'), 'Accept')
        }
      })
    }

    it('redirects /<actor>/ to /<actor> (R-ACT-06)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const answer = await service.request(`/${actor.id}/?a=b`)
      assert.equal(answer.status, 307)
      assert.equal(answer.headers.get('location'), `http://troupe.test/${actor.id}?a=b`)
    })

    it('refuses other methods, and names all methods that the URL supports (R-ACT-05)', async () => {
      const service = await start()
      const actor = await service.createActor()
      for (const method of ['POST', 'PUT', 'PATCH', 'OPTIONS']) {
        const answer = await actor.request(method, '')
        assert.equal(answer.headers.get('allow'), 'DELETE, GET, HEAD')
        await refused(answer, 405, 'method_not_allowed', 'Cannot serve this method: the URL allows DELETE, GET, HEAD')
      }
    })
  })

  describe('an actor that does not exist', () => {
    it('is 404 on every route for every caller (R-ACT-09, CHOICE-50)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const document = (await (await service.request('/openapi.json')).json()) as { paths: Record<string, object> }
      const routes = Object.entries(document.paths)
        .filter(([path]) => path.startsWith('/{actor}'))
        .flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ path, method: method.toUpperCase() })))
      assert.ok(routes.length > 30)
      for (const { path, method } of routes) {
        const target = path.replace('{actor}', '0123456789abcdef0123456789abcdef').replace(/\{\w+\}/g, 'x')
        for (const headers of [
          {},
          { authorization: actor.authorization },
          { authorization: 'Bearer unknown' },
          { accept: 'text/html' },
          { cookie: 'oauth_token=unknown', accept: 'text/html' },
        ]) {
          const answer = await service.request(target, { method, headers })
          const isPage = answer.headers.get('content-type')?.startsWith('text/html') === true
          if (!isPage) {
            await refused(answer, 404, 'actor_not_found', 'Actor "0123456789abcdef0123456789abcdef" does not exist')
            continue
          }
          // Routes that a user may open in a browser show the same message on a page.
          assert.equal('accept' in headers, true, `${method} ${target}`)
          assert.equal(answer.status, 404)
          assert.match(await answer.text(), /Actor &quot;0123456789abcdef0123456789abcdef&quot; does not exist/)
        }
      }
    })

    it('is reported for GET /bot, because a route word counts as an actor where no route matches (R-ACT-09)', async () => {
      const service = await start()
      await refused(await service.request('/bot'), 404, 'actor_not_found', 'Actor "bot" does not exist')
    })
  })

  it('an option of a wrong type prevents the start, and the error names it (R-ACT-03)', async () => {
    // @ts-expect-error a program without types may pass a string
    await assert.rejects(start({ uniqueCreator: 'yes' }), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.equal(error.message, 'Option uniqueCreator must be true or false.')
      return true
    })
  })
})
