/* cspell:ignore ypdlv */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { forEachService } from '../support/service.ts'

const form = (creator: string, accept = 'text/html'): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded', accept },
  body: new URLSearchParams({ creator }),
})

forEachService((start) => {
  it('the template of the front page receives the providers, the base path and the name of the application (R-ACT-01)', async () => {
    const given: PageValues<'factory'>[] = []
    const service = await start({
      name: 'Notes',
      description: 'A notebook',
      baseUrl: 'http://troupe.test/under/here',
      pages: {
        factory: (values) => {
          given.push(values)
          return html`<p>mine</p>`
        },
      },
    })
    for (const path of ['/', '/login']) {
      const answer = await service.request(path)
      assert.deepEqual([answer.status, await answer.text()], [200, '<p>mine</p>'])
      assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    }
    const values = {
      oauth_urls: {},
      oauth_providers: [],
      oauth_enabled: false,
      base_path: '/under/here',
      language: 'en',
      direction: 'ltr',
      theme: null,
      logo: '/assets/troupe.ypdlv_P5QkXG.svg',
      accent_sheet: null,
      name: 'Notes',
      description: 'A notebook',
      error: null,
      creator: '',
      notice: null,
      is_continuing: false,
      is_creation_open: true,
      signed_in_as: null,
      continue_url: null,
      password_url: null,
    }
    assert.deepEqual(given, [values, values])
  })

  it('an application-defined front page is HTML with the headers of every page (R-ACT-01)', async () => {
    const service = await start({ pages: { factory: ({ name }) => html`<h1>${name} & <b>${'<me>'}</b></h1>` } })
    const answer = await service.request('/')
    assert.equal(await answer.text(), '<h1>test & <b>&lt;me&gt;</b></h1>')
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.equal(answer.headers.get('x-frame-options'), 'DENY')
    assert.match(
      answer.headers.get('content-security-policy') ?? '',
      /^default-src 'none'; script-src http:\/\/[^ ]+\/assets\/; /,
    )
  })

  it('the template of a rejected form receives the typed value and the reason, and no actor is created (R-ACT-01)', async () => {
    const given: PageValues<'factory'>[] = []
    const service = await start({
      uniqueCreator: true,
      pages: {
        factory: (values) => {
          given.push(values)
          return html``
        },
      },
    })
    const { id } = await service.createActor('ada@example.com')
    const refused = [
      ['', 400, 'Enter your email address.', ''],
      ['Ada@example.com', 403, 'Cannot create an actor: this creator has one already', 'Ada@example.com'],
    ] as const
    for (const [typed, status, error, creator] of refused) {
      assert.equal((await service.request('/', form(typed))).status, status)
      assert.deepEqual([given.at(-1)?.error, given.at(-1)?.creator], [error, creator])
    }
    assert.equal((await service.app.actors.findByCreator('ada@example.com'))?.id, id)
    assert.equal(await service.app.actors.findByCreator('creator'), undefined)
  })

  it('the template of the created page receives the actor, its address and its passphrase (R-ACT-02)', async () => {
    const given: PageValues<'created'>[] = []
    const service = await start({
      name: 'Notes',
      baseUrl: 'http://troupe.test/under/here',
      pages: {
        created: (values) => {
          given.push(values)
          return html`<p>done</p>`
        },
      },
    })
    const answer = await service.request('/', form('ada@example.com'))
    assert.deepEqual([answer.status, await answer.text()], [200, '<p>done</p>'])
    const [values] = given
    assert.ok(values)
    const { id, passphrase, ...others } = values
    assert.match(id, /^[0-9a-f]{32}$/)
    assert.match(passphrase, /^[0-9a-f]{40}$/)
    assert.deepEqual(others, {
      base_path: '/under/here',
      language: 'en',
      direction: 'ltr',
      theme: null,
      logo: '/assets/troupe.ypdlv_P5QkXG.svg',
      accent_sheet: null,
      name: 'Notes',
      url: `http://troupe.test/under/here/${id}`,
      creator: 'ada@example.com',
    })
  })

  it('the built-in page remains when the application defines none (R-ACT-01)', async () => {
    const service = await start({ name: 'Notes', pages: { created: () => html`<p>mine</p>` } })
    assert.match(await (await service.request('/')).text(), /<h1>Create your account<\/h1>/)
    assert.match(await (await service.request('/', form('ada@example.com'))).text(), /^<p>mine<\/p>$/)
  })
})
