/** `/<actor>/meta`: the public description of an actor. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { refused } from '../support/stored.ts'

forEachService((start) => {
  describe('the metadata of an actor', () => {
    let service: TestService
    let actor: TestActor
    let trusteeId: string
    before(async () => {
      service = await start({
        type: 'urn:actingweb:example.com:notes',
        version: '2.1',
        description: 'Keeps notes',
        info: 'https://example.com/about',
        specification: 'https://example.com/spec',
      })
      actor = await service.createActor()
      trusteeId = (await service.app.actors.create({ trusteeRoot: 'https://trustee.example/1' })).actor.id
    })

    it('is one flat object, with its members in the order of the protocol (R-ACT-08)', async () => {
      const answer = await service.request(`/${actor.id}/meta`)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(
        await answer.text(),
        `{"id":"${actor.id}","type":"urn:actingweb:example.com:notes","version":"2.1","desc":"Keeps notes",` +
          '"info":"https://example.com/about","trustee_root":"","specification":"https://example.com/spec",' +
          '"aw_version":"1.0","aw_supported":"actions,callbackcompression,callbacks,listproperties,methods,moving,nestedproperties,onewaytrust,permissioncallback,permissionquery,resources,subscriptionresync,subscriptions,trust,trustpermissions",' +
          '"aw_formats":"json","aw_trust_types":["admin","api_key","associate","friend","mcp_client","partner","viewer"]}',
      )
    })

    it('names the trustee of an actor that has one (R-ACT-08)', async () => {
      const facts = (await (await service.request(`/${trusteeId}/meta`)).json()) as { trustee_root: string }
      assert.equal(facts.trustee_root, 'https://trustee.example/1')
      assert.equal(await (await service.request(`/${trusteeId}/meta/trustee_root`)).text(), 'https://trustee.example/1')
    })

    for (const [path, value] of [
      ['type', 'urn:actingweb:example.com:notes'],
      ['version', '2.1'],
      ['desc', 'Keeps notes'],
      ['info', 'https://example.com/about'],
      ['trustee_root', ''],
      ['specification', 'https://example.com/spec'],
      ['actingweb/version', '1.0'],
      [
        'actingweb/supported',
        'actions,callbackcompression,callbacks,listproperties,methods,moving,nestedproperties,onewaytrust,permissioncallback,permissionquery,resources,subscriptionresync,subscriptions,trust,trustpermissions',
      ],
      ['actingweb/formats', 'json'],
    ] as const) {
      it(`returns ${path} as plain text (R-ACT-08)`, async () => {
        const answer = await service.request(`/${actor.id}/meta/${path}`)
        assert.equal(answer.status, 200)
        assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8')
        assert.equal(await answer.text(), value)
      })
    }

    it('returns the id as plain text (R-ACT-08)', async () => {
      assert.equal(await (await service.request(`/${actor.id}/meta/id`)).text(), actor.id)
    })

    const names = {
      admin: 'Administrator',
      api_key: 'API key',
      associate: 'Associate',
      friend: 'Friend',
      mcp_client: 'MCP Client (AI Assistant)',
      partner: 'Partner',
      viewer: 'Viewer',
    }

    it('lists the trust types by name, each with a description and its origin (R-ACT-08)', async () => {
      const answer = await service.request(`/${actor.id}/meta/actingweb/trust_types`)
      const types = (await answer.json()) as Record<string, string>[]
      assert.equal(answer.status, 200)
      assert.deepEqual(
        types.map(({ name, display_name, created_by }) => [name, display_name, created_by]),
        Object.entries(names).map(([name, displayName]) => [name, displayName, 'system']),
      )
      for (const type of types) {
        assert.deepEqual(Object.keys(type), ['name', 'display_name', 'description', 'created_by'])
        assert.ok((type['description'] ?? '').length > 10)
      }
    })

    it('returns the trust types by name, and the default relationship (R-ACT-08)', async () => {
      const answer = await service.request(`/${actor.id}/meta/trusttypes`)
      assert.equal(answer.status, 200)
      const body = (await answer.json()) as {
        trust_types: Record<string, Record<string, string>>
        default_trust_type: string
      }
      assert.deepEqual(Object.keys(body), ['trust_types', 'default_trust_type'])
      assert.equal(body.default_trust_type, 'associate')
      assert.deepEqual(
        Object.entries(body.trust_types).map(([name, type]) => [name, Object.keys(type), type['display_name']]),
        Object.entries(names).map(([name, displayName]) => [name, ['display_name', 'description'], displayName]),
      )
    })

    for (const headers of [
      { authorization: 'Basic d3Jvbmc6d3Jvbmc=' },
      { authorization: 'Basic !' },
      { authorization: 'nonsense' },
      { authorization: 'Bearer unknown' },
      { cookie: 'oauth_token=unknown' },
      { accept: 'text/html' },
    ]) {
      it(`is public and ignores ${JSON.stringify(headers)} (R-ACT-08)`, async () => {
        const answer = await service.request(`/${actor.id}/meta/type`, { headers })
        assert.equal(answer.status, 200)
        assert.equal(await answer.text(), 'urn:actingweb:example.com:notes')
      })
    }

    it('is the same with a slash at the end (R-ACT-08)', async () => {
      const [bare, slashed] = [await service.request(`/${actor.id}/meta`), await service.request(`/${actor.id}/meta/`)]
      assert.equal(slashed.status, 200)
      assert.equal(await slashed.text(), await bare.text())
    })

    for (const path of [
      'actingweb',
      'raml',
      'id/',
      'id/x',
      'actingweb/',
      'actingweb/x',
      'passphrase',
      'creator',
      'ID',
    ]) {
      it(`has no value at ${path} (R-ACT-08)`, async () => {
        await refused(
          await service.request(`/${actor.id}/meta/${path}`),
          404,
          'not_found',
          `Cannot find the meta value ${JSON.stringify(path)}: it does not exist`,
        )
      })
    }

    it('is read-only (R-ACT-08)', async () => {
      for (const path of ['/meta', '/meta/id']) {
        for (const method of ['POST', 'PUT', 'DELETE']) {
          const answer = await actor.request(method, path)
          assert.equal(answer.headers.get('allow'), 'GET, HEAD')
          await refused(answer, 405, 'method_not_allowed', /the URL allows GET, HEAD$/)
        }
        assert.equal((await actor.request('GET', `${path}?_method=DELETE`)).status, 200)
      }
    })

    it('is 404 for an actor that does not exist (R-ACT-09, R-ACT-08)', async () => {
      for (const path of ['/meta', '/meta/id', '/meta/nothing'])
        await refused(
          await service.request(`/missing${path}`),
          404,
          'actor_not_found',
          'Actor "missing" does not exist',
        )
    })
  })

  it('an application without a version reports the release of the service (R-ACT-08, R-VER-01)', async () => {
    const file = await readFile(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')
    const { version } = JSON.parse(file) as { version: string }
    const service = await start()
    const actor = await service.createActor()
    const facts = (await (await service.request(`/${actor.id}/meta`)).json()) as Record<string, unknown>
    assert.equal(facts['version'], version)
    assert.match(version, /^\d+\.\d+\.\d+/)
    assert.deepEqual([facts['desc'], facts['info'], facts['specification']], ['', '', ''])
    const document = (await (await service.request('/openapi.json')).json()) as { info: { version: string } }
    assert.equal(document.info.version, version)
  })
})
