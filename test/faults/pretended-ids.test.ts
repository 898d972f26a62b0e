/** A stranger uses the id of an actor that the owner knows, from another address. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { ServiceNetwork } from '../support/service-network.ts'
import { addressAt, secretAt } from '../support/moving.ts'

const hereUrl = 'https://here.example.com'
const thereUrl = 'https://there.example.com'
const evilUrl = 'https://evil.example.com'

forEachService((start) => {
  interface Scene {
    readonly network: ServiceNetwork
    readonly here: TestService
    readonly there: TestService
    readonly alice: TestActor
    readonly bob: TestActor
    /** Sends the stranger's trust request to Alice, in the name of Bob. Resolves with the status. */
    readonly pretend: (secret: string, more?: object) => Promise<number>
    /** Reads the properties of Alice with this secret. Resolves with the status. */
    readonly read: (secret: string) => Promise<number>
  }

  /** @param isLower Whether the id of Bob is lower than that of Alice, so that his side of crossing requests wins. */
  async function scene(isLower: boolean): Promise<Scene> {
    const network = new ServiceNetwork()
    const [here, there] = await Promise.all([
      start({ peerClient: network, baseUrl: hereUrl }),
      start({ peerClient: network, baseUrl: thereUrl }),
    ])
    network.add(here)
    network.add(there)
    network.serve(evilUrl, () => Response.json({ verification_token: 'token-of-the-stranger' }))
    const bob = await there.createActor('bob@example.com')
    let alice = await here.createActor('alice@example.com')
    while (bob.id < alice.id !== isLower) alice = await here.createActor('alice@example.com')
    const send = (path: string, init: RequestInit): Promise<Response> => here.request(`/${alice.id}${path}`, init)
    return {
      network,
      here,
      there,
      alice,
      bob,
      pretend: async (secret, more = {}) => {
        const body = {
          baseuri: `${evilUrl}/${bob.id}`,
          id: bob.id,
          type: 'urn:actingweb:example.com:evil',
          secret,
          verify: 'token-of-the-stranger',
          ...more,
        }
        const headers = { 'content-type': 'application/json' }
        return (await send('/trust/friend', { method: 'POST', headers, body: JSON.stringify(body) })).status
      },
      read: async (secret) => (await send('/properties', { headers: { authorization: `Bearer ${secret}` } })).status,
    }
  }

  const [first, second] = ['1'.repeat(40), '2'.repeat(40)]

  for (const isLower of [true, false]) {
    for (const more of [{ crossing: 'lower-id' }, {}]) {
      const title = `${isLower ? 'a lower' : 'a higher'} id, ${'crossing' in more ? 'with' : 'without'} the rule of ids`
      describe(`a stranger that uses the id of the actor whom the owner asks (${title})`, () => {
        it('gets no approval by a request that crosses that of the owner (PEER-17)', async () => {
          const { network, here, there, alice, bob, pretend, read } = await scene(isLower)
          await alice.request('PUT', '/properties/diary', { text: 'private' })
          assert.equal(await pretend(first, more), 202)
          const statuses: number[] = []
          network.fate = async ({ method, url }) => {
            if (method === 'POST' && url.startsWith(`${thereUrl}/${bob.id}/trust/`)) {
              statuses.push(await pretend(second, more), await pretend(first, more))
            }
            return 'arrives' as const
          }
          const url = `${thereUrl}/${bob.id}`
          assert.equal((await alice.request('POST', '/trust', { url, relationship: 'friend' })).status, 201)
          assert.deepEqual(statuses, [403, 403])
          assert.equal(await read(first), 403)
          assert.equal(await read(second), 403)
          assert.equal(await addressAt(here, alice.id, bob.id), url)
          const secret = await secretAt(here, alice.id, bob.id)
          assert.equal(await secretAt(there, bob.id, alice.id), secret)
          assert.equal(await read(secret), 200)
        })
      })
    }
  }

  describe('a stranger that waits for approval with the id of another actor', () => {
    it('neither stays nor gets a secret when the owner asks that actor, which does not answer (PEER-17)', async () => {
      const { network, alice, bob, pretend, read } = await scene(true)
      assert.equal(await pretend(first), 202)
      network.fate = ({ method, url }) =>
        method === 'POST' && url.startsWith(`${thereUrl}/`) ? 'unreached' : 'arrives'
      const url = `${thereUrl}/${bob.id}`
      assert.equal((await alice.request('POST', '/trust', { url, relationship: 'friend' })).status, 408)
      assert.equal(await read(first), 403)
      const trusts = (await (await alice.request('GET', '/trust')).json()) as unknown[]
      assert.deepEqual(trusts, [])
      assert.ok(!network.saw(/^POST https:\/\/evil/))
    })
  })
})
