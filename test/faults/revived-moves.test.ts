/** A break-in that began a move: a restored service must not continue it when the operator ends what is younger. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { stopMove } from '../../src/moving/stop-move.ts'
import { builtInTables } from '../../src/features/features.ts'
import { countCredentials, revokeCredentials } from '../../src/operator/revoke-credentials.ts'
import { newEvilKeys } from '../support/evil-home.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { ServiceNetwork } from '../support/service-network.ts'

const evilUrl = 'https://evil.example.com'
const hourMs = 3_600_000

forEachService((start) => {
  describe('a move that began after the time of a break-in', () => {
    it('is stopped, and the new service gets no archive any longer (DUR-22)', async () => {
      const clock = new ManualClock()
      const network = new ServiceNetwork()
      const { shown } = await newEvilKeys()
      const archives: string[] = []
      // The stranger keeps the move from ending until the database was copied.
      let accepts = false
      network.serve(evilUrl, ({ method, url }) => {
        if (method === 'PUT') archives.push(url)
        if (method === 'POST' && url.endsWith('/moves'))
          return new Response(JSON.stringify({ key: shown }), { status: 201 })
        return accepts ? new Response('{"taken":true}', { status: 200 }) : new Response('{}', { status: 503 })
      })
      const service = await start({ peerClient: network, now: clock.now, timers: clock.timers })
      const [older, younger] = [
        await service.createActor('ada@example.com'),
        await service.createActor('eve@example.com'),
      ]
      await begin(older)
      await passUntil(clock, [service], () => archives.length > 0)
      const time = clock.now() + hourMs / 2
      clock.pass(hourMs)
      await begin(younger)
      await passUntil(clock, [service], () => archives.includes(`${evilUrl}/moves/${younger.id}`))
      const { store, keyRing } = await service.app.running()
      assert.equal((await countCredentials({ store, tables: builtInTables }, time)).ended['moves to other services'], 1)
      const { ended } = await revokeCredentials({ store, tables: builtInTables, keyRing, stopMove }, time)
      assert.equal(ended['moves to other services'], 1)
      assert.equal((await countCredentials({ store, tables: builtInTables }, time)).ended['moves to other services'], 0)
      accepts = true
      archives.splice(0)
      await passUntil(clock, [service], async () => (await residenceOf(service, older)) === 'gone')
      assert.deepEqual(archives, [`${evilUrl}/moves/${older.id}`])
      assert.equal(await residenceOf(service, younger), 'here')
      assert.equal((await service.request(`/${younger.id}/meta/moving`)).status, 404)
      assert.deepEqual(((await (await younger.request('GET', '/move')).json()) as { leaving: unknown }).leaving, null)
      assert.equal((await younger.request('PUT', '/properties/color', 'red')).status, 204)
    })

    async function begin(actor: TestActor): Promise<void> {
      assert.equal((await actor.request('POST', '/move', { to: evilUrl })).status, 202)
    }

    async function residenceOf(service: TestService, { id }: TestActor): Promise<string> {
      const { parts } = await service.app.running()
      return (await parts.actors.find(id))?.residence ?? 'gone'
    }
  })
})
