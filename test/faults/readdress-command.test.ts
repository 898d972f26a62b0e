/** `troupe readdress` as a program, with a service that listens at two names, and a peer that cannot follow a change. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { secretAt } from '../support/moving.ts'
import { type Ending, Workplace } from '../support/program.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonSubscriber } from '../support/python-subscriptions.ts'
import { peerStates } from '../support/readdressed.ts'
import { forEachService, type TestActor, testKeys, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

forEachService((start) => {
  describe('troupe readdress', () => {
    const place = new Workplace()
    const closers: (() => unknown)[] = []
    let port: number
    let former: string
    let current: string
    before(async () => {
      port = await freePort()
      former = `http://127.0.0.1:${port}`
      current = `http://localhost:${port}`
    })
    afterEach(async () => {
      for (const close of closers.splice(0)) await close()
    })
    after(() => place.remove())

    const serve = (baseUrl: string, formerBaseUrls: readonly string[], database?: string): Promise<TestService> =>
      start({ listen: true, port, baseUrl, formerBaseUrls, ...(database === undefined ? {} : { database }) })
    const settingsOf = ({ databaseUrl }: TestService): Record<string, string> => ({
      DATABASE_URL: databaseUrl,
      TROUPE_SECRET_KEYS: testKeys,
      BASE_URL: current,
      TROUPE_FORMER_BASE_URLS: former,
    })
    const command = (
      service: TestService,
      args: readonly string[],
      env: Readonly<Record<string, string>> = {},
    ): Promise<Ending> => place.run(['readdress', ...args], { env: { ...settingsOf(service), ...env } })
    /** The lines of `troupe doctor` about peers. */
    const peersOf = async (service: TestService): Promise<string[]> => {
      const { code, stdout } = await place.run(['doctor'], {
        env: { ...settingsOf(service), TROUPE_MODE: 'development' },
      })
      assert.equal(code, 0)
      return stdout.split('\n').flatMap((line) => /^peers +(.*)$/.exec(line)?.[1] ?? [])
    }
    const at = (
      service: TestService,
      actor: TestActor,
      method: string,
      path: string,
      body: unknown,
    ): Promise<Response> =>
      service.request(`/${actor.id}${path}`, {
        method,
        headers: { authorization: actor.authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })

    it('leaves a Python peer alone, and then asks it once, with its copy and one resync (R-ADDR-06)', async () => {
      const first = await serve(former, [])
      const alice = await first.createActor('alice@example.com')
      const peer = await PythonPeer.start({ autoAccept: 'friend' })
      closers.push(() => peer.close())
      assert.equal((await alice.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 201)
      const subscriber = new PythonSubscriber(peer)
      const subscription = await subscriber.subscribe(alice.id)
      await alice.request('PUT', '/properties/mood', '"sunny"')
      await until(() => subscriber.copy.get('mood') === 'sunny')
      peer.autoAccept = null
      const before = peer.trusts.get(alice.id)?.secret
      await first.close()
      let service = await serve(current, [former], first.databaseUrl)
      const sent = (pattern: RegExp): number =>
        peer.requests.filter(({ method, path }) => pattern.test(`${method} ${path}`)).length
      const planned = await command(service, [current, '--dry-run'])
      assert.deepEqual([planned.code, planned.stderr], [0, ''])
      assert.match(planned.stdout, /^troupe readdress informs 1 peer of 1 actor\.$/m)
      assert.deepEqual(await peerStates(service, alice), {})
      const informed = await command(service, [current])
      assert.deepEqual([informed.code, informed.stderr], [0, ''])
      assert.match(informed.stdout, /^1 peer of 1 actor will be informed\.\npeers {5}0 informed, 1 waiting/m)
      // A start looks for the work of other processes.
      await service.close()
      service = await serve(current, [former], first.databaseUrl)
      await until(async () => (await peerStates(service, alice))['kept'] === 1)
      assert.equal(sent(/^POST \/trust\//), 1)
      assert.deepEqual(await peersOf(service), ['0 informed, 0 waiting, 0 asked, 1 with the former address, 0 failed'])
      // The former name serves: changes of both sides arrive, also those that the peer fetches.
      const large = 'x'.repeat(100_000)
      assert.ok((await at(service, alice, 'PUT', '/properties/mood', large)).ok)
      await until(() => subscriber.copy.get('mood') === large)
      const asked = await command(service, [current, '--ask'])
      assert.deepEqual([asked.code, asked.stderr], [0, ''])
      await service.close()
      service = await serve(current, [former], first.databaseUrl)
      await until(async () => (await peerStates(service, alice))['asked'] === 1)
      assert.equal(peer.trusts.get(alice.id)?.baseuri, `${current}/${alice.id}`)
      assert.notEqual(peer.trusts.get(alice.id)?.secret, before)
      assert.equal(await secretAt(service, alice.id, peer.id), peer.trusts.get(alice.id)?.secret)
      for (const value of ['rainy', 'cloudy']) {
        assert.ok((await at(service, alice, 'PUT', '/properties/mood', value)).ok)
      }
      assert.equal(subscriber.copy.get('mood'), large)
      const callbacks = (): string[] =>
        peer.requests.filter(({ path }) => path.startsWith('/callbacks/')).map(({ body }) => body)
      await service.settled()
      const earlier = callbacks().length
      await peer.approve(alice.id)
      await until(() => subscriber.copy.get('mood') === 'cloudy')
      await service.settled()
      assert.deepEqual(
        callbacks()
          .slice(earlier)
          .map((body) => (JSON.parse(body) as { type?: string }).type),
        ['resync'],
      )
      assert.deepEqual(subscriber.subscriptions, [subscription])
      assert.deepEqual([sent(/^POST \/trust\//), sent(/^DELETE /)], [2, 0])
    })

    it('refuses an address or a change of another service, and changes nothing (R-ADDR-03, R-ADDR-07)', async () => {
      const first = await serve(former, [])
      const [ada, bob] = [await first.createActor('ada@example.com'), await first.createActor('bob@example.com')]
      assert.equal(
        (await ada.request('POST', '/trust', { url: `${former}/${bob.id}`, relationship: 'friend' })).status,
        201,
      )
      await first.close()
      const service = await serve(current, [former], first.databaseUrl)
      const stranger = await start({ listen: true, secretKeys: 'k1:DBFzcbsZk5f1zBZ5XyYy5kTqLk5XoLmJ4bWw0r9cPq8' })
      const proxy = createServer((_, response) => response.writeHead(404).end())
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
      closers.push(() => proxy.close())
      const nothing = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const cases: readonly (readonly [
        args: readonly string[],
        env: Readonly<Record<string, string>>,
        refusal: RegExp,
      ])[] = [
        [[], {}, /expected the new base URL/],
        [[current, current], {}, /expected the new base URL/],
        [[former], {}, /BASE_URL is http:\/\/localhost/],
        [['https://new.example.com'], {}, /BASE_URL is http:\/\/localhost/],
        [['javascript:alert(1)'], {}, /BASE_URL is http:\/\/localhost/],
        [[former], { BASE_URL: former, TROUPE_FORMER_BASE_URLS: '' }, /already\. There is nothing to change/],
        [[current], { TROUPE_FORMER_BASE_URLS: '' }, /Set TROUPE_FORMER_BASE_URLS=http:\/\/127/],
        [[current], { TROUPE_FORMER_BASE_URLS: stranger.url }, /Set TROUPE_FORMER_BASE_URLS=http:\/\/127/],
        [[stranger.url], { BASE_URL: stranger.url }, /Another Troupe service answers/],
        [[nothing], { BASE_URL: nothing }, /Another service answers/],
        [['http://127.0.0.1:9'], { BASE_URL: 'http://127.0.0.1:9' }, /Cannot change the address\. Cannot reach/],
        [[current, '--force'], {}, /Unknown option --force/],
      ]
      for (const [args, env, refusal] of cases) {
        const { code, stdout, stderr } = await command(service, args, env)
        assert.deepEqual([code, stdout], [1, ''], `${args.join(' ')} ${stderr}`)
        assert.match(stderr, refusal)
      }
      const [warning, ...more] = await peersOf(service)
      assert.match(
        warning ?? '',
        /^Peers know this service as http:\/\/127\.0\.0\.1:\d+, and BASE_URL is http:\/\/localhost/,
      )
      assert.deepEqual(more, [])
      assert.deepEqual([await peerStates(service, ada), await peerStates(service, bob)], [{}, {}])
    })
  })
})
