import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { fillHeavyActor } from '../support/heavy-actor.ts'
import { heavyReads } from '../support/heavy-requests.ts'
import { isOffender, measureHeavy } from '../support/heavy-run.ts'
import { forEachService } from '../support/service.ts'

// Less than the data and the heap together. The processor time is generous, because the machine may be slow.
const limits = { megabytes: 72, cpuMs: 1000, statements: 100 }

const reading = {
  sqlite:
    /^(list(Properties|Trusts|Subscriptions)|exportActor|poll|getProperty|getListItems|dashboard|mcp resources|properties|peerPage|viewAsPeer|trustPage)/,
  postgres: /^(list(Properties|Trusts)|exportActor|pollSubscription$|mcp resources.list|dashboard)/,
}

forEachService((start, dialect) => {
  describe('a GET request that reads much of an actor', () => {
    it('takes little memory of a process with a small heap, in short turns of the event loop (HTTP-29)', async () => {
      if (!existsSync('/proc/self/clear_refs')) return
      const service = await start()
      const actor = await fillHeavyActor(service, { megabytes: 36, relationships: 300 })
      await service.close()
      // Each route that reads much, once, as the caller with the most rights.
      const requests = heavyReads(actor).flatMap((one) =>
        reading[dialect].test(one.name) ? { ...one, callers: one.callers.slice(0, 1) } : [],
      )
      const measured = await measureHeavy(service.databaseUrl, actor, requests, {
        limits,
        oldSpaceMegabytes: 64,
        repetitions: 1,
        warmUps: 2,
        collects: false,
        maxBytes: 4_000_000,
      })
      assert.ok(measured.length >= 8)
      assert.deepEqual(
        measured
          .filter((one) => isOffender(one, limits))
          .map(({ name, caller, status, strain }) => ({ name, caller, status, strain })),
        [],
      )
    })
  })
})
