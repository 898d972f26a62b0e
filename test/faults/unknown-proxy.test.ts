/** A proxy before the service that `TROUPE_TRUSTED_PROXIES` does not count, and the log of failed sign-ins. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { proxyFindings } from '../../src/cli/deployment/proxy.ts'
import { Probe } from '../../src/cli/deployment/probe.ts'
import { basic, forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'

/** The limits of production. */
const limits: StartOptions = {
  listen: true,
  rateLimits: {
    'passphrase/pair': { count: 10, seconds: 300 },
    'passphrase/source': { count: 30, seconds: 300 },
    'passphrase/target': { count: 50, seconds: 300 },
    'secret/source': { count: 600, seconds: 60 },
  },
}

forEachService((start) => {
  /** Sends a guess of the passphrase through a proxy that names the sender. */
  const guess = (service: TestService, actor: TestActor, headers: Record<string, string>, passphrase = 'wrong') =>
    service.request(`/${actor.id}/properties`, {
      headers: { authorization: basic(actor.creator, passphrase), ...headers },
    })

  describe('a proxy that the service does not trust', () => {
    it('does not let one sender lock out the others behind it (RATE-08)', async () => {
      const service = await start(limits)
      const actor = await service.createActor()
      const other = await service.createActor('other@example.com')
      for (const [name, stranger] of [
        ['x-forwarded-for', '203.0.113.7'],
        ['forwarded', '203.0.113.8'],
      ] as const) {
        const from = (address: string) => ({ [name]: name === 'forwarded' ? `proto=https;for=${address}` : address })
        const statuses = new Set<number>()
        // The pair of sender and actor is limited first, and then the sender at other actors.
        for (let count = 0; count < 40; count += 1) statuses.add((await guess(service, actor, from(stranger))).status)
        assert.deepEqual([...statuses], [403, 429], name)
        // Neither the owner of the actor nor that of another one.
        for (const owner of [actor, other])
          assert.equal((await guess(service, owner, from('198.51.100.9'), owner.passphrase)).status, 200, name)
        assert.equal((await guess(service, other, from(stranger), other.passphrase)).status, 200, name)
      }
    })

    it('cannot be claimed for more than a bounded number of guesses (RATE-08)', async () => {
      const service = await start({ ...limits, rateLimits: { 'passphrase/source': { count: 3, seconds: 300 } } })
      const actor = await service.createActor()
      const other = await service.createActor('other@example.com')
      let served = 0
      for (let count = 0; count < 90; count += 1) {
        const sender = { 'x-forwarded-for': `203.0.113.${count}` }
        if ((await guess(service, count % 2 === 0 ? actor : other, sender)).status === 403) served += 1
      }
      // 20 times the limit of one sender, and what a slow test gets back meanwhile.
      assert.ok(served >= 60 && served < 80, `${served} guesses`)
    })

    it('is reported once in the log, and by the check of a deployment (RATE-08)', async () => {
      const service = await start(limits)
      const warned = () => service.log.filter((line) => line.includes('TROUPE_TRUSTED_PROXIES is 0')).length
      await service.request('/health/live')
      assert.equal(warned(), 0)
      for (let count = 0; count < 3; count += 1)
        await service.request('/health/live', { headers: { 'x-forwarded-for': '203.0.113.7' } })
      assert.equal(warned(), 1)
      const throughProxy = new Probe(service.url)
      throughProxy.send = async (path, init) => {
        const headers = new Headers(init?.headers)
        headers.append('x-forwarded-for', '198.51.100.9')
        const answer = await service.request(path, { ...init, headers })
        return { status: answer.status, headers: answer.headers, body: await answer.text() }
      }
      const found = await proxyFindings(throughProxy)
      assert.deepEqual(
        found.filter(({ check }) => check === 'senders').map(({ level, reason }) => [level, reason]),
        [
          [
            'problem',
            'A proxy names the senders of requests, but the service does not read it: TROUPE_TRUSTED_PROXIES is 0.',
          ],
        ],
      )
      const trusting = await start({ ...limits, trustedProxies: 1 })
      const answer = await trusting.request('/health/live', { headers: { 'x-forwarded-for': '203.0.113.7' } })
      assert.deepEqual(Object.keys((await answer.json()) as object), ['status', 'version', 'commit'])
      assert.equal(trusting.log.filter((line) => line.includes('TROUPE_TRUSTED_PROXIES')).length, 0)
    })
  })

  describe('a failed sign-in', () => {
    it('is logged at info with the address and the method, and without the secret (RATE-07)', async () => {
      const service = await start({ ...limits, trustedProxies: 1, logLevel: 'info' })
      const actor = await service.createActor()
      const from = { 'x-forwarded-for': '203.0.113.7' }
      assert.equal((await guess(service, actor, from, 'a-wrong-passphrase')).status, 403)
      const bearer = { authorization: 'Bearer a-wrong-secret-of-a-peer', ...from }
      assert.equal((await service.request(`/${actor.id}/properties`, { headers: bearer })).status, 403)
      assert.equal((await guess(service, actor, from, actor.passphrase)).status, 200)
      const lines = service.log
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => msg === 'Failed sign-in')
      assert.deepEqual(
        lines.map(({ level, address, method, actorId }) => ({ level, address, method, actorId })),
        [
          { level: 'info', address: '203.0.113.7', method: 'passphrase', actorId: actor.id },
          { level: 'info', address: '203.0.113.7', method: 'secret', actorId: actor.id },
        ],
      )
      assert.doesNotMatch(service.log.join('\n'), /a-wrong-/)
    })
  })
})
