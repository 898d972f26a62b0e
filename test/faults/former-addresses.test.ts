/** A service whose public address has changed, and its former addresses. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { relate } from '../support/friends.ts'
import { ServiceNetwork } from '../support/service-network.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'

const oldUrl = 'https://old.example.com'
const newUrl = 'https://new.example.com'

/** Sends a request to a URL, as a proxy that keeps the Host passes it on. */
function at(service: TestService, url: string, headers: Record<string, string> = {}): Promise<Response> {
  return service.app.fetch(new Request(url, { redirect: 'manual', headers }))
}

/** Requests of the owner at another process with the same database. */
function requestAt(service: TestService, { id, authorization }: TestActor): TestActor['request'] {
  return (method, path, body) =>
    service.request(`/${id}${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
}

forEachService((start) => {
  describe('a former address of the service', () => {
    const cases: readonly { readonly base: string; readonly former: string }[] = [
      { base: newUrl, former: oldUrl },
      { base: newUrl, former: `${oldUrl}/actors` },
      { base: `${newUrl}/deep/er`, former: oldUrl },
      { base: `${newUrl}/deep`, former: `${newUrl}/other` },
      { base: `${newUrl}/deep`, former: newUrl },
      { base: newUrl, former: `${newUrl}/deep` },
    ]
    for (const { base, former } of cases)
      it(`answers as BASE_URL does: ${former} besides ${base} (R-ADDR-01)`, async () => {
        const service = await start({ baseUrl: base, formerBaseUrls: ['https://unused.example.com', former] })
        const created = await service.request('/', { method: 'POST', body: '{}' })
        assert.equal(created.status, 201)
        const { id } = (await created.json()) as { id: string }
        assert.equal(created.headers.get('location'), `${base}/${id}`)
        for (const path of [`/${id}/meta/id`, '/health/live?x=1', `/${id}/nothing`, '/']) {
          const [here, there] = [await at(service, `${base}${path}`), await at(service, `${former}${path}`)]
          assert.deepEqual([there.status, await there.text()], [here.status, await here.text()], path)
        }
      })

    const answers: readonly {
      readonly answer: NonNullable<StartOptions['formerAnswer']>
      readonly api: readonly [number, string | null]
      readonly page: readonly [number, string | null]
    }[] = [
      { answer: 'serve', api: [200, null], page: [307, `${newUrl}/a/{id}/meta`] },
      { answer: 'redirect', api: [308, `${newUrl}/a/{id}/meta`], page: [308, `${newUrl}/a/{id}/meta`] },
      { answer: 'gone', api: [410, null], page: [410, null] },
    ]
    for (const { answer, api, page } of answers)
      it(`answers by TROUPE_FORMER_ANSWER=${answer}, and never with 404 for an actor that exists (R-ADDR-02)`, async () => {
        const former = `${oldUrl}:8443/b`
        const service = await start({ baseUrl: `${newUrl}/a`, formerBaseUrls: [former], formerAnswer: answer })
        const { id } = await service.createActor()
        for (const [accept, expected] of [
          ['application/json', api],
          ['text/html,*/*', page],
        ] as const) {
          const got = await at(service, `${former}/${id}/meta`, { accept })
          assert.deepEqual(
            [got.status, got.headers.get('location')],
            [expected[0], expected[1]?.replace('{id}', id) ?? null],
          )
          const other = await at(service, `${newUrl}/a/${id}/meta/id`, { accept })
          assert.equal(other.status, 200)
        }
        assert.equal((await at(service, `${former}/health/live`)).status, 200)
        // Any other host is that of a proxy, which the service does not judge.
        assert.equal((await at(service, `http://10.0.0.1/a/${id}/meta`)).status, 200)
      })

    it('serves the actors of the service to each other without a connection (R-ADDR-01)', async () => {
      const service = await start({ baseUrl: newUrl, formerBaseUrls: [oldUrl] })
      const [ada, bob] = [await service.createActor('ada@example.com'), await service.createActor('bob@example.com')]
      const asked = await ada.request('POST', '/trust', { url: `${oldUrl}/${bob.id}`, relationship: 'friend' })
      assert.equal(asked.status, 201, await asked.text())
    })
  })

  describe('the start with another BASE_URL', () => {
    const warnings = (service: TestService): string[] =>
      service.log.filter((line) => line.includes('Peers know this service as'))

    it('warns while peers know another address, and not before there are peers (R-ADDR-03)', async () => {
      const network = new ServiceNetwork()
      const [first, peers] = await Promise.all(
        [oldUrl, 'https://peer.example.com'].map((baseUrl) => start({ baseUrl, peerClient: network })),
      )
      assert.ok(first !== undefined && peers !== undefined)
      for (const service of [first, peers]) network.add(service)
      const [ada, bob] = [await first.createActor('ada@example.com'), await peers.createActor('bob@example.com')]
      const restarted = async (baseUrl: string): Promise<string[]> => {
        const service = await start({ baseUrl, peerClient: network, database: first.databaseUrl })
        const warned = warnings(service)
        await service.close()
        return warned
      }
      await first.close()
      assert.deepEqual(await restarted(newUrl), [])
      assert.deepEqual(await restarted(oldUrl), [])
      const related = await start({ baseUrl: oldUrl, peerClient: network, database: first.databaseUrl })
      network.add(related)
      await relate(bob, [related, { ...ada, request: requestAt(related, ada) }])
      await related.close()
      assert.deepEqual(await restarted(oldUrl), [])
      for (const _ of [1, 2]) {
        const [warning, ...more] = await restarted(newUrl)
        assert.match(
          warning ?? '',
          /Set TROUPE_FORMER_BASE_URLS=https:\/\/old\.example\.com and run troupe readdress https:\/\/new\.example\.com, or set BASE_URL back/,
        )
        assert.deepEqual(more, [])
      }
      assert.deepEqual(await restarted(oldUrl), [])
    })
  })
})
